import { route, setParams } from "../router";
import { S } from "../strings";
import { Tabs } from "../ui/Tabs";
import { AuditLog } from "./activity/AuditLog";
import { EventList } from "./activity/EventList";
import { Numbers } from "./activity/Numbers";

const tabs = [
  { id: "events", label: S.activity.events },
  { id: "audit", label: S.activity.audit },
  { id: "numbers", label: S.activity.numbers },
];

/** Activity shows what happens, who changed what, and how fast it went. */
export function Activity() {
  const tab = tabs.some((t) => t.id === route.value.params.tab) ? route.value.params.tab! : "events";
  return (
    <div class="page activity">
      <h1>{S.nav.activity}</h1>
      <Tabs label={S.nav.activity!} tabs={tabs} current={tab} onChange={(id) => setParams({ tab: id })}>
        {tab === "events" ? <EventList /> : tab === "audit" ? <AuditLog /> : <Numbers />}
      </Tabs>
    </div>
  );
}
