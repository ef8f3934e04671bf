package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"pannier"
	"pannier/publish/prompt"
)

type object = map[string]any

// schemas makes the JSON Schemas of the shapes on the wire from their Go types, so that they are written once.
// Every field that is always there is required. Objects may get further fields, so a schema does not forbid them.
type schemas struct{ named object }

// words are the values that a type of words has.
var words = map[reflect.Type][]any{
	reflect.TypeFor[pannier.State](): anyOf(pannier.States()...),
	reflect.TypeFor[pannier.SourceKind](): anyOf(
		pannier.SourceWorkspace, pannier.SourceManaged, pannier.SourceBundled, pannier.SourceExtra,
	),
	reflect.TypeFor[pannier.Severity](): anyOf(
		pannier.SeverityError, pannier.SeverityWarning, pannier.SeverityInfo,
	),
	reflect.TypeFor[pannier.Trust](): anyOf(pannier.TrustLevels()...),
	reflect.TypeFor[pannier.PolicyLayer](): anyOf(
		pannier.PolicyStart, pannier.PolicyGateway, pannier.PolicyWorkspace,
	),
	reflect.TypeFor[pannier.EnvironmentSource](): anyOf(
		pannier.EnvironmentAgent, pannier.EnvironmentFile, pannier.EnvironmentSidecar,
	),
	reflect.TypeFor[pannier.HealthStatus](): anyOf(
		pannier.HealthOK, pannier.HealthDegraded, pannier.HealthFailing,
	),
	reflect.TypeFor[pannier.SkillHealthStatus](): anyOf(pannier.SkillOK, pannier.SkillDegraded, pannier.SkillBlocked),
	reflect.TypeFor[pannier.ScanDecision]():      anyOf(pannier.ScanAllow, pannier.ScanWarn, pannier.ScanBlock),
	reflect.TypeFor[pannier.ScanOrigin](): anyOf(
		pannier.ScanBackground, pannier.ScanInstall, pannier.ScanExplicit,
	),
	reflect.TypeFor[pannier.RuntimeToolKind](): anyOf(pannier.RuntimeToolKinds()...),
	reflect.TypeFor[pannier.FileChange](): anyOf(
		pannier.FileAdded, pannier.FileRemoved, pannier.FileChanged, pannier.FileMode,
	),
	reflect.TypeFor[pannier.AuditPhase]():     anyOf(pannier.AuditIntent, pannier.AuditOutcome),
	reflect.TypeFor[pannier.InvocationMode](): anyOf(pannier.InvokedManually, pannier.InvokedAutomatically),
	reflect.TypeFor[pannier.EventType]():      anyOf(pannier.EventTypes()...),
}

func anyOf[T any](values ...T) []any {
	var all []any
	for _, v := range values {
		all = append(all, v)
	}
	return all
}

// singleOrBatch is one value of a type, or an array of them; listOf is an array of them.
type (
	singleOrBatch struct{ one any }
	listOf        struct{ items any }
	// eitherOf is a value of one of some types.
	eitherOf []any
)

// shape returns the schema of a value's type; a value that is a schema is that.
func (s schemas) shape(value any) object {
	switch value := value.(type) {
	case object:
		return value
	case singleOrBatch:
		one := s.shape(value.one)
		return object{"oneOf": []any{one, object{"type": "array", "items": one, "minItems": 1}}}
	case listOf:
		return object{"type": "array", "items": s.shape(value.items)}
	case eitherOf:
		var each []any
		for _, one := range value {
			each = append(each, s.shape(one))
		}
		return object{"oneOf": each}
	}
	return s.of(reflect.TypeOf(value))
}

func (s schemas) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[pannier.Toggle]():
		return object{"type": []string{"boolean", "null"}}
	case reflect.TypeFor[pannier.Permission]():
		return object{"type": []string{"string", "null"}, "pattern": "^sha256:[0-9a-f]{64}$"}
	case reflect.TypeFor[pannier.Digest]():
		return s.name(t, func() object { return object{"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"} })
	}
	if values, ok := words[t]; ok {
		return s.name(t, func() object { return object{"type": "string", "enum": values} })
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return s.name(t, func() object { return s.object(t) })
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	}
	return plain(t.Kind())
}

func plain(kind reflect.Kind) object {
	switch kind {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int32:
		return object{"type": "integer"}
	case reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Uint, reflect.Uint32:
		return object{"type": "integer", "minimum": 0}
	case reflect.Uint64:
		return object{"type": "integer", "format": "int64", "minimum": 0}
	case reflect.Float64:
		return object{"type": "number", "format": "double"}
	}
	return object{} // anything
}

// name puts the schema of a type among the components, once, and refers to it.
func (s schemas) name(t reflect.Type, make func() object) object {
	if t.Name() == "" {
		return make()
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if _, ok := s.named[name]; !ok {
		s.named[name] = nil // a type that holds itself finds its name taken
		s.named[name] = make()
	}
	return reference(name)
}

func reference(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// fieldSchemas are the schemas of fields whose Go types say too little.
var fieldSchemas = map[string]object{
	"AuditEntry.detail":       anyKeys("object"),
	"Content.frontmatter":     anyKeys("object", "null"),
	"PlatformCard.wanted":     anyKeys("object", "null"),
	"PlatformCard.has":        anyKeys("object", "null"),
	"Peer.card":               anyKeys("object", "null"),
	"ListedTool.config":       anyKeys("object"),
	"ListedTool.parameters":   anyKeys("object"),
	"SkillLoaded.frontmatter": anyKeys("object", "null"),
	"SkillPromotion.packet":   anyKeys("object"),
	"Tool.parameters":         anyKeys("object"),
	"Turn.format":             promptFormat,

	"rpcCall.jsonrpc":   rpcVersion,
	"rpcCall.id":        rpcID,
	"rpcCall.params":    {"oneOf": []any{anyKeys("object", "null"), object{"type": "array", "items": object{}}}},
	"rpcAnswer.jsonrpc": rpcVersion,
	"rpcAnswer.id":      rpcID,
}

var (
	promptFormat = object{"type": "string", "enum": anyOf(prompt.Formats()...)}

	rpcVersion = object{"type": "string", "const": "2.0"}
	rpcID      = object{
		"oneOf": []any{object{"type": "string"}, object{"type": "number", "format": "double"}, object{"type": "null"}},
	}
)

func anyKeys(kinds ...string) object {
	schema := object{"type": kinds, "additionalProperties": true}
	if len(kinds) == 1 {
		schema["type"] = kinds[0]
	}
	return schema
}

// object returns the schema of a struct.
func (s schemas) object(t reflect.Type) object {
	properties, required := object{}, []string{}
	s.fields(t.Name(), t, properties, &required)
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// fields adds the fields of a type, which may be embedded in the one that has the name.
func (s schemas) fields(of string, t reflect.Type, properties object, required *[]string) {
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if f.Anonymous && name == "" {
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			s.fields(of, embedded, properties, required)
			continue
		}
		if !f.IsExported() || tag == "-" || name == "" {
			continue
		}
		if schema, ok := fieldSchemas[of+"."+name]; ok {
			properties[name] = schema
		} else {
			properties[name] = s.of(f.Type)
		}
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

var eventData = map[pannier.EventType]any{
	pannier.EventCatalogUpdated: pannier.CatalogUpdated{}, pannier.EventSkillLoaded: pannier.SkillLoaded{},
	pannier.EventSkillFileRead: pannier.SkillFileRead{}, pannier.EventSkillInvoked: pannier.SkillInvoked{},
	pannier.EventTurnResolved:      pannier.TurnResolved{},
	pannier.EventSkillToolCalled:   pannier.SkillToolCalled{},
	pannier.EventSkillOverride:     pannier.SkillOverride{},
	pannier.EventSkillStateChanged: pannier.SkillStateChanged{}, pannier.EventSkillWarning: pannier.SkillWarning{},
	pannier.EventWorkspaceChanged:   pannier.WorkspaceChanged{},
	pannier.EventEnvironmentChanged: pannier.EnvironmentChanged{},
	pannier.EventPolicyChanged:      pannier.PolicyChanged{}, pannier.EventSkillScanned: pannier.SkillScanned{},
	pannier.EventInstallAdded: pannier.SkillInstalled{}, pannier.EventInstallReplaced: pannier.SkillInstalled{},
	pannier.EventInstallRemoved: pannier.SkillInstalled{}, pannier.EventInstallRolledBack: pannier.SkillInstalled{},
	pannier.EventSkillPromotion: pannier.SkillPromotion{}, pannier.EventMCPSession: pannier.MCPSession{},
	pannier.EventCardPushed: pannier.CardPush{}, pannier.EventCardRejected: pannier.CardPush{},
}

// event adds the schemas of events: Event is one envelope for each type, distinguished by the type.
func (s schemas) event() object {
	var each []any
	schemaOf := object{}
	for _, kind := range pannier.EventTypes() {
		envelope := s.object(reflect.TypeFor[pannier.Event]())
		properties := envelope["properties"].(object)
		properties["type"] = object{"type": "string", "const": kind}
		if data, ok := eventData[kind]; ok {
			properties["data"] = s.of(reflect.TypeOf(data))
		}
		name := envelopeName(kind)
		s.named[name] = envelope
		each = append(each, reference(name))
		schemaOf[string(kind)] = reference(name)["$ref"]
	}
	s.named["Event"] = object{"oneOf": each, "discriminator": object{"propertyName": "type", "mapping": schemaOf}}
	return reference("Event")
}

// envelopeName returns the name of the envelope of a type of event: CardPushedEvent for card_pushed.
func envelopeName(kind pannier.EventType) string {
	var name strings.Builder
	for word := range strings.SplitSeq(string(kind), "_") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + "Event"
}
