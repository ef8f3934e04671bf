package rank

import "strings"

// stops are words that say nothing about what a text is about, of the languages that [related] has words of.
var stops = wordSet(`
a an the this that these those it its he she we they you your yours my our their his her me us them i im ive id ill
and or but nor so if then else than as at by for from in into of off on onto out over to up upon with within without about above
below under between through during before after again against is are was were be been being am do does did doing done dont doesnt
have has had having can cant cannot could couldnt would wouldnt should shall will wont may might must let lets
what whats which who whom whose when where why how there here all any both each few more most other some such no not only own same too
very just also now please thanks thank hello hi hey ok okay yes yeah
want wants wanted need needs needed like likes get gets got give gives make makes made use uses used using help helps me show tell
know think look looks see take put set try go going way thing things something anything everything good great nice new best better
one two first last next lot many much really every still already yet ever never maybe quick quickly
der die das den dem des ein eine einen einem einer und oder aber ist sind war wie was wer ich du er sie es wir ihr mir mich dir dich
mein meine meinen meinem dein deine fur mit von zu zum zur im am an auf aus bei nach uber unter vor nicht kein keine bitte kannst konnen
soll sollen muss mach mache machen mochte brauche hilf helfen diese diesen dieses diesem auch noch nur
le la les un une des du de et ou mais est sont je tu il elle nous vous ils mon ma mes ton ta tes son sa ses ce cet cette ces pour avec
dans sur sous par pas ne que qui quoi comment peux peut veux voudrais faire fais aide aider besoin moi plus
el los las una unos unas y o pero es son yo tu mi mis su sus este esta estos estas para con en por no que quien como puedo puede puedes
quiero necesito hacer haz ayuda ayudame del al se lo me
`)

func wordSet(text string) map[string]struct{} {
	set := map[string]struct{}{}
	for word := range strings.FieldsSeq(text) {
		set[word] = struct{}{}
	}
	return set
}

// related has for a folded word of a turn the words that skills use for the same, and for common words of other languages the
// English ones. Each line is a group of words, a colon, and what they call for. A word need not stand for all of its meanings:
// the list has those that people give agents as tasks.
var related = relatedWords(relatedTable)

// relatedTable is a variable so that the evaluation can link pannier without it.
var relatedTable = `
slide slides slideshow deck decks powerpoint ppt keynote: pptx presentation powerpoint slides
presentation presentations: pptx slides
spreadsheet spreadsheets excel xls: xlsx spreadsheet excel
workbook worksheet: xlsx excel
word doc docs: docx document
document documents: docx
csv tsv: csv table spreadsheet
signin login logon: auth authentication login
auth oauth sso: authentication auth
authenticate authentication authorization: auth
log signup: auth
db: database sql
database: sql db
postgres postgresql psql: postgres postgresql
k8s kube: kubernetes
kubernetes: k8s
js: javascript
ts: typescript
py: python
ci cd pipeline: ci workflow
pr prs: pull request review
bug bugs crash error errors: debugging debug fix
debug debugging: debugging bug
test tests testing: testing test
picture pictures photo photos image images: image
drawing sketch: image diagram
diagram diagrams flowchart: diagram mermaid
chart charts graph graphs plot plots plotting: visualization chart plot
email emails mail mails inbox: email gmail mail
calendar appointment meeting meetings: calendar meeting
movie film clip: video
song music: audio music
speech voice: audio speech tts
transcribe transcript subtitles captions: transcription audio
website webpage site homepage: web website frontend
scrape scraping crawl crawler: scraping web browser
browser: web browser
ui ux: frontend design interface
design: ui frontend
app apps: application mobile
iphone ios ipad: ios swift
android: android mobile kotlin
paper papers article articles: research literature paper
cite citation citations references bibliography: citation bibliography
summarize summary tldr: summarize summary
translate translation: translate translation localization
rewrite proofread: writing edit
write writing: writing
blog post: blog writing content
weather forecast temperature: weather
stock stocks shares: stock finance market
money budget invoice invoices: finance invoice
deploy deployment ship release: deploy deployment release
secret secrets password passwords credential credentials: secrets credentials security
vulnerability vulnerabilities exploit: security vulnerability
security secure: security
slow speed faster performance: performance optimization
refactor cleanup: refactoring refactor
commit commits: git commit
ticket tickets issue issues: issue jira linear
protein proteins: protein
molecule molecules compound compounds: chemistry molecule
dna rna genome gene genes: genomics sequence
llm gpt: llm model ai
embedding embeddings: embeddings vector
pdf pdfs: pdf

csproj sln nuget csharp dotnet: dotnet net csharp
msbuild: dotnet build
jsx tsx react: react
vue: vue
svelte: svelte
tf hcl: terraform
kubectl helm pod pods eks aks: kubernetes
gke: kubernetes gke
adwords: google ads
vpc subnet vpn firewall: network networking
gcp: google cloud
ec2 s3 lambda: aws
ipynb notebook notebooks: jupyter notebook
dataframe dataframes: pandas polars data
lat lon latitude longitude coordinates gis shapefile county counties: geospatial map
cpu ram memory gpu disk processor processors: resources memory cpu gpu
vram: gpu memory
latency throughput bottleneck: performance
flaky: test
coverage: test coverage
lint linter linting: lint static analysis
types typing typescript: types typescript
schema migration migrations: migration schema database
column columns rows row: table database spreadsheet
vocabulary glossary terminology: domain terms glossary
whitepaper thesis dissertation: academic research writing
examiner grading marks: evaluate evaluation
brainstorm ideas idea: brainstorming ideas
roadmap epic backlog story: planning product
kpi kpis: metrics
subscribers newsletter newsletters: marketing email audience
customers audience: customer audience
investors investor pitch fundraising: investor startup
pricing: pricing monetization
seo ranking: seo search
copy tagline slogan: copywriting brand
logo branding: brand
compliance gdpr privacy: compliance privacy
lawyer legal nda: legal contract
accountant bookkeeping tax taxes: tax finance accounting
hire hiring candidate interview: recruiting job
onboard onboarding newcomer: onboarding
outage incident downtime: incident postmortem
alert alerts alerting paging: monitoring alerts
logs logging: logs observability
trace traces tracing: tracing observability
retry retries backoff timeout: resilience retry
queue broker kafka rabbitmq: messaging queue
cron schedule scheduled nightly: schedule automation
bill billing spend costs cost expensive cheaper: cost billing
tokens context window: context tokens
prompt prompts: prompt
hallucination hallucinations: evaluation
dataset datasets: data dataset
classifier regression forecasting: machine learning model
neural: deep learning
simulate simulation: simulation
chemistry reaction reactions: chemistry
microscope microscopy czi tiff: microscopy imaging
mass spectrometry mzml: spectrometry proteomics
patient patients hospital: clinical medical
dicom mri ct: medical imaging
genetics mutation variants vcf bam fastq: genomics sequencing
robot pipetting: lab automation
quantum qubit qubits: quantum
astronomy telescope star stars: astronomy
comment comments annotate: comments documentation
readme changelog docstring: documentation
chop split extract: refactor
unit integration e2e: testing
mock mocks stub: testing
keyboard screenreader contrast: accessibility
animation animations scroll motion: animation
css styling style stylesheet: css styling frontend
landing: landing page
mockup wireframe: design
form forms: form
merge rebase conflict conflicts: git merge
branch branches: git branch
fork upstream: git
dependency dependencies packages: dependency
license licensing: license
obfuscation decompile disassemble: reverse engineering
pentest hacking hack: security testing
phone phones mobile: mobile app
wifi router homelab: network
ota hotfix: update

prasentation prasentationen folien folie: presentation slides pptx
tabelle tabellen kalkulation tabellenkalkulation: spreadsheet table xlsx
dokument dokumente: document docx
formular formulare: form forms
bild bilder foto fotos: image
datei dateien: file
datenbank datenbanken abfrage abfragen: database sql query
anmeldung anmelden einloggen: auth login authentication
rechnung rechnungen: invoice
ubersetze ubersetzen ubersetzung: translate translation
zusammenfassung zusammenfassen fasse: summary summarize
schreiben schreibe entwurf: write writing draft
fehler fehlersuche: bug debugging error
prufen prufe uberprufe uberprufen: review check
testen teste: test testing
bereitstellen ausliefern veroffentlichen: deploy release publish
sicherheit schwachstelle schwachstellen: security vulnerability
diagramm diagramme: diagram chart
wetter wettervorhersage: weather
webseite website internetseite: web website
suche suchen finde finden: search find
daten: data
auswerten auswertung analysieren analysiere analyse: analysis analyze data
leistung geschwindigkeit langsam schneller: performance optimization
barrierefreiheit barrierefrei: accessibility
termin termine kalender: calendar meeting
nachricht nachrichten: message
karte karten: map
programm programmieren: code
verbessern verbessere optimieren: improve optimize
erklare erklaren: explain
vertrag vertrage: contract legal
stellenanzeige lebenslauf bewerbung: job resume
aufgabe aufgaben: task
ordner verzeichnis: folder directory
bericht berichte: report
wissenschaftlich forschung: scientific research
proteine: protein
molekul molekule: molecule chemistry
statistik statistische: statistics statistical
zeitreihe zeitreihen: time series

kosten ausgaben ausgegeben teuer: cost billing
projekt projekte: project
netz netzwerk heimnetz: network
heim zuhause: home
umsatz: revenue
investor investoren: investor
modell modelle: model
bewerter bewertung bewerten: evaluation
vorlage vorlagen: template
einrichten aufsetzen installieren: setup install
umzug migrieren umstellung umstellen: migration
zweig: branch
entwickler: developer
kunde kunden: customer
forschungsfrage studie: research study
zelle zellen: cell
patienten patient: clinical
bildschirmfoto screenshot: screenshot
ton stimme: audio
lernen uben: learning
gewohnheit: habit
einladung: meeting
schnittstelle: api interface
speicher: memory storage
arbeitsvertrag: employment contract
datenschutz dsgvo: gdpr privacy
ubersicht gliederung: outline
veroffentlichung: release

diapositive diapositives diaporama: presentation slides pptx
tableur tableau tableaux feuille: spreadsheet table xlsx
formulaire formulaires: form forms
fichier fichiers: file
image images photographie: image
base donnees: database data
connexion connecter authentification identification: auth login authentication
facture factures: invoice
traduire traduis traduction: translate translation
resume resumer resumez: summary summarize
ecrire ecris rediger redige redaction: write writing
bogue bogues erreur erreurs deboguer: bug debugging error
verifier verifie relire revue: review check
tester essais: test testing
deployer deploie deploiement publier: deploy release publish
securite faille failles vulnerabilite vulnerabilites: security vulnerability
diagramme graphique graphiques: diagram chart
meteo: weather
site: web website
recherche rechercher chercher cherche: search research find
analyser analyse: analysis analyze
lent lente accelerer performances: performance optimization
accessibilite: accessibility
calendrier reunion: calendar meeting
ameliorer optimiser: improve optimize
expliquer explique: explain
contrat contrats: contract legal
rapport rapports: report
dossier: folder directory
statistiques: statistics
courriel courriels: email
video: video

cout couts depense depenses facturation: cost billing
modele modeles: model template
lancer lancement lance: launch
client clients: customer
utilisateur utilisateurs: user
rgpd confidentialite: gdpr privacy
projet projets: project
migrer: migration
architecture: architecture
installer installation configurer: setup install
reseau: network
donnee: data
sauvegarde: backup
memoire: memory
tache taches: task
cellule cellules: cell
molecule molecules: molecule
etude: study research
couverture: coverage
revenus: revenue
travail embauche: employment job
branche: branch
essai: test
apprendre apprentissage: learning
capture: screenshot
schema: diagram schema

presentacion diapositiva diapositivas: presentation slides pptx
hoja hojas calculo: spreadsheet xlsx
tabla tablas: table spreadsheet
formulario formularios: form forms
archivo archivos fichero: file
imagen imagenes foto: image
datos base: data database
sesion iniciar autenticacion: auth login authentication
factura facturas: invoice
traducir traduce traduccion: translate translation
resumen resumir resume: summary summarize
escribir escribe redactar redacta: write writing
error errores depurar depura: bug debugging error
revisar revisa revision: review check
probar prueba pruebas: test testing
desplegar despliegue publicar: deploy release publish
seguridad vulnerabilidad vulnerabilidades: security vulnerability
diagrama grafico graficos: diagram chart
clima tiempo: weather
sitio pagina: web website
buscar busca busqueda investigacion: search research find
analizar analiza analisis: analysis analyze
lento rendimiento acelerar: performance optimization
accesibilidad: accessibility
calendario reunion: calendar meeting
mejorar mejora optimizar: improve optimize
explicar explica: explain
contrato contratos: contract legal
informe informes: report
carpeta: folder directory
estadistica estadisticas: statistics
correo correos: email
codigo: code

coste costes costo costos gasto gastos facturacion: cost billing
modelo modelos: model
lanzar lanzamiento: launch
cliente clientes: customer
usuario usuarios: user
proyecto proyectos: project
contexto: context
memoria: memory
sesiones: session
tarea tareas: task
propuesta: proposal
migrar migracion: migration
instalar configurar: setup install
red redes: network
copia respaldo: backup
celula celulas: cell
molecula moleculas: molecule
estudio: study research
cobertura: coverage
ingresos: revenue
rama: branch
aprender: learning
captura: screenshot
privacidad rgpd: gdpr privacy
plantilla: template
automatizar programadas: automation schedule
dependencias: dependency

幻灯 灯片 演示: presentation slides pptx
表格 电子: spreadsheet table xlsx
文档 文件: document docx file
表单: form
图片 图像 照片: image
数据: data
据库: database sql
查询: query sql
登录 登陆 认证: auth login authentication
发票: invoice
翻译: translate translation
总结 摘要: summary summarize
写作 撰写 编写: write writing
错误 调试 修复: bug debugging fix
审查 检查: review check
测试: test testing
部署 发布: deploy release
安全 漏洞: security vulnerability
图表 流程: diagram chart
天气: weather
网站 网页: web website
搜索 查找: search find
分析: analysis analyze
性能 优化: performance optimization
日历 会议: calendar meeting
合同: contract legal
报告: report
代码: code
视频: video
音频: audio
邮件: email
论文 文献: paper literature research
统计: statistics
蛋白: protein
分子: molecule chemistry
浏览 览器: browser
爬虫 爬取: scraping web
成本 费用 省钱: cost
谷歌: google
任务: task
项目: project
迁移 升级: migration upgrade
模型: model
训练: training
集群: cluster kubernetes
网络: network
监控: monitoring
日志: logs
缓存: cache
上下 下文: context
记忆 内存: memory
会话: session
用户: user
客户: customer
产品: product
设计: design
架构: architecture
接口: api
依赖: dependency
分支: branch
合并: merge
提交: commit
评估 评测: evaluation
细胞: cell
基因: gene genomics
药物: drug
截图: screenshot
可视: visualization
仪表: dashboard
笔记: notes
学习: learning
提示: prompt
框架: framework
异步: async
并发: concurrency
容器: docker container
`

// relatedLong are the words of [related] that a word with a typing error may stand for.
var relatedLong = func() (long []string) {
	for word := range related {
		if len(word) >= fuzzyLetters-1 {
			long = append(long, word)
		}
	}
	return long
}()

func relatedWords(text string) map[string][]string {
	words := map[string][]string{}
	for line := range strings.Lines(text) {
		from, to, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		terms := strings.Fields(to)
		for i, term := range terms {
			terms[i] = stem(term)
		}
		for word := range strings.FieldsSeq(from) {
			words[word] = append(words[word], terms...)
		}
	}
	return words
}
