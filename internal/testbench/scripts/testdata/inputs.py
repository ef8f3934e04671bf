"""Makes the files that scripts of the comparison read, in the current directory."""
import json
import os
import zipfile


def put(name, text):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w", encoding="utf-8") as f:
        f.write(text if isinstance(text, str) else json.dumps(text, indent=1))


put("a.md", """# Quarterly report

Revenue grew by 12 % to $4,000. Our products are carbon neutral and 100% green.

## Numbers

| month | value |
|---|---|
| May | 3 |
| June | 5 |

```mermaid
graph TD
  A --> B
```

- one
- two
""")
put("b.md", "# Quarterly report\n\nRevenue grew by 11 % to $4,100.\n\n## Numbers\n\nNone.\n")
put("notes.txt", "First line\nSecond line\n\nThird line\n")
put("strings.txt", "Name\nValue\nTotal & more\n")
put("talk.txt", "Ann 00:00:05\nGood morning all.\n\nBob 00:01:10\nMorning. Part two starts now.\n\nAnn 00:00:50\nThank you, 12 people came.\n")
put("data.csv", "month,value,claim\nMay,3,eco-friendly\nJune,5,net zero by 2030\n")
put("page.html", "<html><body><img src='a.png'><h1>Title</h1><h3>Deep</h3><a href='x'>click here</a></body></html>")
put("shell.ansi", "\033[32mok\033[0m done\n\033[1mbold\033[0m\n")
put("export.txt", "> hello\n\n⏺ This is a line that was wrapped at eighty columns because the terminal was\n  small and goes on here.\n")
put("one.json", {"items": []})
put("empty.json", {})
put("tokens.json", {
    "title": 'Report',
    "author": 'Ann',
    "date": '2026-01-01',
    "doc_type": 'proposal',
    "cover_bg": '#22272E',
    "accent": '#4E6070',
    "accent_lt": '#EAECEE',
    "text_light": '#EDE9E2',
    "page_bg": '#FAFAF7',
    "dark": '#18191E',
    "body_text": '#28282E',
    "muted": '#7A7870',
    "cover_pattern": 'split',
    "mood": 'confident',
    "font_display": 'Syne',
    "font_body": 'Nunito Sans',
    "gfonts_import": 'https://fonts.googleapis.com/css2?family=Syne:wght@600;800&family=Nunito+Sans:wght@400;600;700&display=swap',
    "font_display_rl": 'Times-Bold',
    "font_body_rl": 'Helvetica',
    "font_body_b_rl": 'Helvetica-Bold',
    "font_heading": 'Times-Bold',
    "font_body_b": 'Helvetica-Bold',
    "font_paths": {},
    "size_display": 54,
    "size_h1": 22,
    "size_h2": 15,
    "size_h3": 11.5,
    "size_body": 10.5,
    "size_caption": 8.5,
    "size_meta": 8,
    "margin_left": 79,
    "margin_right": 79,
    "margin_top": 79,
    "margin_bottom": 71,
    "section_gap": 26,
    "para_gap": 8,
    "line_gap": 17,
})
put("content.json", [{"type": "h1", "text": "Title"}, {"type": "body", "text": "Some text."}])
put("words.json", {"words": [{"word": "Good", "start": 0.0, "end": 0.4}, {"word": "morning", "start": 0.5, "end": 0.9}]})
put("speakers.json", {"segments": [{"start": 0.0, "end": 1.0, "speaker": "A"}]})
put("said.txt", "Good morning")
put("conversation.json", {
    "uuid": "u", "name": "Talk", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "created_at": "2026-01-01T00:00:00Z", "content": [{"type": "text", "text": "Hi"}]},
        {"uuid": "m2", "sender": "assistant", "created_at": "2026-01-01T00:00:01Z", "content": [{"type": "text", "text": "Hello."}]},
    ],
})
put("session.jsonl", "\n".join(json.dumps(x) for x in [
    {"type": "user", "timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": "write a file"}},
    {"type": "assistant", "timestamp": "2026-01-01T00:00:01Z", "message": {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": "Write", "input": {"file_path": "/w/x.py", "content": "print(1)\n"}}]}},
]) + "\n")
put("hook.json", {"tool_name": "Bash", "tool_input": {"command": "rm -rf / --no-preserve-root"}})
put("harmless.json", {"tool_name": "Bash", "tool_input": {"command": "npm install x"}})
put("loop.json", {"original_description": "d", "best_description": "e", "best_score": "1/1", "iterations_run": 1, "history": [
    {"iteration": 1, "description": "d", "train_passed": 1, "train_total": 1, "passed": 1, "total": 1, "train_results": [], "results": []}]})
put("workload.json", {"workload": "w"})
put("schema.json", [{"name": "patient_id", "description": "Number of the patient"}, {"name": "result", "description": "Value"}])
put("comments.json", [{"id": 0, "search_phrase": "packaging", "paragraphs": ["Check it."]}])
put("slides.json", [{"slide": 1, "idx": 1, "author": "Ann", "initials": "A", "date": "2026-01-01T00:00:00", "x": 10, "y": 10, "text": "Check it."}])
put("config.json", {"profile_name": "P", "watch_topics": [{"key": "t", "label": "T"}], "cadence": "weekly"})
put("items.json", {"items": [{"topic": "t", "jurisdiction": "EU", "title": "New rule", "summary": "S", "url": "https://x.example", "date": "2026-01-01"}]})
put("process.json", {
    "process_name": "Order", "purpose": "Sell", "trigger": "A call", "roles": [{"name": "Ann", "responsibilities": ["all"]}],
    "steps": [{"id": "1", "name": "Take it", "owner": "Ann", "action": "Write it down", "type": "task"}],
})
put("route.json", {"points": [{"name": "A", "lat": 52.5, "lon": 13.4}, {"name": "B", "lat": 48.1, "lon": 11.6}]})
put("snapshot.json", {"schemaVersion": "0.1.0", "snapshotId": "s", "capturedAt": "2026-01-01T00:00:00Z", "probes": []})
put("later.json", {"schemaVersion": "0.1.0", "snapshotId": "t", "capturedAt": "2026-02-01T00:00:00Z", "probes": []})
put("figures.json", {"ticker": "X", "price": {"current": 1.0}})
put("metrics.json", {"flows": [], "summary": {}})
put("board.json", {"title": "T", "signals": []})
put("demos.json", {"demos": []})
put("sink.json", {"source": "guide.md", "sections": []})
put("guide.md", "# Guide\n\n## Rules\n\nBe brief.\n\n## Story\n\n" + "A long story. " * 100 + "\n")
put("skill/SKILL.md", "---\nname: skill\ndescription: Fills forms. Use when asked to fill one.\n---\n# Skill\n\nRun `python scripts/x.py`.\n")
put("skill/scripts/x.py", "print(1)\n")
for app in ("app/", ""):
    put(app + "package.json", {
        "name": "app", "version": "1.0.0", "type": "module", "dependencies": {"react": "^18.2.0", "hono": "^4.0.0"},
        "devDependencies": {"typescript": "^5.4.0", "wrangler": "^4.0.0", "vite": "^5.0.0"},
    })
    put(app + "tsconfig.json", {"compilerOptions": {"target": "ES5", "module": "commonjs", "moduleResolution": "node", "baseUrl": "."}})
    put(app + "src/index.ts", "export default { fetch(request: Request, env: Env) { return new Response('ok'); } };\n")
    put(app + "src/App.tsx", "import * as Dialog from '@radix-ui/react-dialog';\nexport const App = () => <Dialog.Root asChild />;\n")
    put(app + "wrangler.jsonc", '{\n  "name": "app",\n  "main": "src/index.ts",\n  "compatibility_date": "2026-01-01"\n}\n')
    put(app + "nuxt.config.ts", "export default defineNuxtConfig({ modules: ['@nuxt/content'] })\n")
put("results/eval-1/with_skill/run-1/grading.json", {"summary": {"pass_rate": 1.0, "passed": 1, "failed": 0, "total": 1}, "expectations": []})
put(".github/workflows/ci.yml", "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo\n")
put("app/README.md", "# App\n")
put("results/eval-1/with_skill/run-1/outputs/a.txt", "Done.\n")
put("solution/solution.xml", "<ImportExportXml><SolutionManifest><UniqueName>S</UniqueName></SolutionManifest></ImportExportXml>")
put("solution/customizations.xml", "<ImportExportXml></ImportExportXml>")
put("library/a.txt", "A text about orders and stock.\n")
put("library/b.txt", "A text about orders and stock!\n")
with zipfile.ZipFile("batch.zip", "w") as z:
    z.writestr("c.txt", "A text about people.\n")
with zipfile.ZipFile("solution.zip", "w") as z:
    z.writestr("solution.xml", "<ImportExportXml><SolutionManifest><UniqueName>S</UniqueName></SolutionManifest></ImportExportXml>")
    z.writestr("customizations.xml", "<ImportExportXml></ImportExportXml>")
with zipfile.ZipFile("deck.pptx", "w") as z:
    z.writestr("[Content_Types].xml", '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>')
    z.writestr("ppt/presentation.xml", '<p:presentation xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
               'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><p:sldIdLst>'
               '<p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>')
    z.writestr("ppt/_rels/presentation.xml.rels", '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
               '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/slide" '
               'Target="slides/slide1.xml"/></Relationships>')
    z.writestr("ppt/slides/slide1.xml", '<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
               'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r>'
               '<a:t>Hello</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>')


# These packages are those of Debian; without one, its files are missing, and scripts say so.
def book():
    from openpyxl import Workbook
    w = Workbook()
    s = w.active
    s.title = "Data"
    for row in (["Name", "Value"], ["May", 3], ["June", 5], ["Sum", "=SUM(B2:B3)"]):
        s.append(row)
    w.save("book.xlsx")
    with zipfile.ZipFile("book.xlsx") as z:
        z.extractall("unpacked")
    with open("unpacked/xl/_rels/workbook.xml.rels", encoding="utf-8") as f:
        text = f.read()
    put("unpacked/xl/sharedStrings.xml", '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>')
    put("unpacked/xl/_rels/workbook.xml.rels", text.replace('Target="/xl/', 'Target="'))


def document():
    from docx import Document
    d = Document()
    d.add_heading("Title", 1)
    d.add_paragraph("Our packaging is eco-friendly.")
    d.save("doc.docx")


def pages():
    from reportlab.pdfgen import canvas
    for name in ("doc.pdf", "cover.pdf", "form.pdf"):
        c = canvas.Canvas(name, invariant=1)
        c.drawString(72, 720, "A page of text")
        if name == "form.pdf":
            c.acroForm.textfield(name="name", x=72, y=650, width=200, height=20)
        c.save()


def picture():
    from PIL import Image
    Image.new("RGB", (40, 30), (200, 10, 10)).save("shot.png")


for make in (book, document, pages, picture):
    try:
        make()
    except ImportError:
        pass
