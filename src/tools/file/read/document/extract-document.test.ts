import { buffer } from "node:stream/consumers"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { ZipFile } from "yazl"
import { describe, expect, test } from "vitest"
import { toolBench } from "../../../../../test/fixtures/tools/tool-bench.ts"
import { readFile } from "../../read-file.ts"
import { readDocx } from "./docx.ts"
import { readNotebook } from "./notebook.ts"
import { readXlsx } from "./xlsx.ts"

async function zip(entries: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const file = new ZipFile()
  for (const [name, content] of Object.entries(entries)) file.addBuffer(Buffer.from(content), name)
  file.end()
  return await buffer(file.outputStream)
}

const word = (body: string): Promise<Buffer> =>
  zip({ "word/document.xml": `<?xml version="1.0"?><w:document xmlns:w="w"><w:body>${body}</w:body></w:document>` })
const paragraph = (text: string): string => `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`

describe("docx", () => {
  test("paragraphs, tabs, breaks, entities, CDATA; without deleted text, field codes and alternative content", async () => {
    const archive = await word(
      `${paragraph("A &amp; B &lt;c&gt; &#233;&#x1F600;")}<w:p/>` +
        `<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t><![CDATA[c < d]]></w:t></w:r></w:p>` +
        `<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:instrText>PAGE</w:instrText><w:t>kept</w:t></w:r></w:p>` +
        `<w:p><mc:AlternateContent><mc:Choice><w:r><w:t>one</w:t></w:r></mc:Choice><mc:Fallback><w:r><w:t>two</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>`,
    )
    expect(await readDocx(archive)).toBe("A & B <c> é😀\n\na\tb\nc < d\nkept\none")
  })

  test("a row of a table is a line of cells", async () => {
    const cell = (text: string): string => `<w:tc>${text}</w:tc>`
    const archive = await word(
      `${paragraph("before")}<w:tbl><w:tr>${cell(paragraph("a"))}${cell(paragraph("b1") + paragraph("b2"))}</w:tr>` +
        `<w:tr>${cell(paragraph(""))}${cell(paragraph("d"))}</w:tr></w:tbl>${paragraph("after")}`,
    )
    expect(await readDocx(archive)).toBe("before\na\tb1 b2\n\td\nafter")
  })

  test("a document type is refused, so that no entity can be declared", async () => {
    const xml = `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">]><w:p><w:t>&b;</w:t></w:p>`
    await expect(readDocx(await zip({ "word/document.xml": xml }))).rejects.toThrow("document type declaration")
    const unknown = await word(paragraph("&file; &a;"))
    expect(await readDocx(unknown)).toBe("&file; &a;")
  })

  test.each([
    ["no document in it", () => zip({ "x.txt": "x" }), /no word\/document\.xml/],
    ["no archive", () => Promise.resolve(Buffer.from("PK no")), /./],
    ["half an archive", async () => (await word(paragraph("a"))).subarray(0, 60), /./],
    ["a bomb", () => zip({ "word/document.xml": Buffer.alloc(2 * 1024 * 1024) }), /too large when it is unpacked/],
    ["too much in one entry", () => zip({ "word/document.xml": Buffer.alloc(70 * 1024 * 1024, "ab") }), /too large/],
    ["a tag without an end", () => zip({ "word/document.xml": "<w:p" }), /ends inside a tag/],
  ])("refused: %s", async (_what, make, error) => {
    await expect(readDocx(await make())).rejects.toThrow(error)
  })

  test("entries that are not selected are not unpacked", async () => {
    const archive = await zip({
      "word/media/a.png": Buffer.alloc(2 * 1024 * 1024),
      "word/document.xml": paragraph("ok"),
    })
    expect(await readDocx(archive)).toBe("ok")
  })
})

describe("xlsx", () => {
  const workbook = (sheets: Readonly<Record<string, string>>, strings = "", states: readonly string[] = []) => {
    const names = Object.keys(sheets)
    const list = names.map(
      (name, i) => `<sheet name="${name}" r:id="r${i}"${states[i] === undefined ? "" : ` state="${states[i]}"`}/>`,
    )
    const relations = names.map(
      (_, i) => `<Relationship Id="r${i}" Target="${i === 0 ? "/xl/" : ""}worksheets/s${i}.xml"/>`,
    )
    return zip({
      "xl/workbook.xml": `<workbook><sheets>${list.join("")}</sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": `<Relationships>${relations.join("")}</Relationships>`,
      "xl/sharedStrings.xml": `<sst>${strings}</sst>`,
      ...Object.fromEntries(
        names.map((name, i) => [
          `xl/worksheets/s${i}.xml`,
          `<worksheet><sheetData>${sheets[name]}</sheetData></worksheet>`,
        ]),
      ),
    })
  }

  test("visible sheets with strings, numbers, truth values, gaps and formulas", async () => {
    const rows =
      `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>` +
      `<row r="2"><c r="A2"><v>1.5</v></c><c r="B2" t="b"><v>1</v></c><c r="C2"><f>A2*2</f><v>3</v></c></row>` +
      `<row r="3"><c t="inlineStr"><is><t>in\nline</t></is></c><c t="str"><v>text</v></c></row>`
    const strings = `<si><t>Name</t></si><si><r><t>Two</t></r><r><t> parts</t></r><rPh><t>x</t></rPh></si>`
    const archive = await workbook({ "A &amp; B": rows, Hidden: rows, Empty: "" }, strings, ["visible", "hidden"])
    expect(await readXlsx(archive)).toBe(
      "# ── Sheet: A & B ──\nName\t\tTwo parts\n1.5\tTRUE\t3\nin line\ttext\n\n# ── Sheet: Empty ──\n(empty)",
    )
  })

  test("rows and columns are limited, and the limit is reported", async () => {
    const wide = `<row><c r="A1"><v>1</v></c><c r="IV1"><v>256</v></c><c r="IW1"><v>257</v></c></row>`
    const long = Array.from({ length: 5001 }, (_, index) => `<row><c><v>${index}</v></c></row>`).join("")
    const text = await readXlsx(await workbook({ wide, long }))
    expect(text.split("\n")[1]).toBe(`1${"\t".repeat(255)}256`)
    expect(text.split("\n").slice(-2)).toEqual(["4999", "(only the first 5000 rows are shown)"])
  })

  test("a relation that points outside the archive is ignored", async () => {
    const archive = await zip({
      "xl/workbook.xml": `<workbook><sheet name="s" r:id="r"/></workbook>`,
      "xl/_rels/workbook.xml.rels": `<Relationship Id="r" Target="file:///etc/passwd" TargetMode="External"/>`,
    })
    expect(await readXlsx(archive)).toBe("# ── Sheet: s ──\n(empty)")
  })
})

describe("notebooks", () => {
  const read = (notebook: unknown): string => readNotebook(new TextEncoder().encode(JSON.stringify(notebook)))

  test("cells under numbered headings, without outputs", () => {
    const cells = [
      { cell_type: "markdown", source: ["# Title\n", "text"] },
      { cell_type: "code", source: "x = 1", outputs: [{ text: "secret output" }] },
      { cell_type: "raw", source: [] },
    ]
    expect(read({ cells })).toBe(
      "# ── Markdown cell 1 ──\n# Title\ntext\n\n# ── Code cell 2 ──\nx = 1\n\n# ── Raw cell 3 ──\n",
    )
    expect(read({ worksheets: [{ cells: [{ cell_type: "code", input: ["old"] }] }] })).toBe("# ── Code cell 1 ──\nold")
  })

  test.each([[{}], [[]], ["x"]])("%j is not a notebook", (notebook) => {
    expect(() => read(notebook)).toThrow("no cells")
  })
})

describe("read_file", () => {
  test("pages go through the extracted text", async () => {
    await using bench = await toolBench()
    await writeFile(join(bench.home.workdir, "a.docx"), await word(["a", "b", "c"].map(paragraph).join("")))
    expect(await bench.call(readFile, { path: "a.docx", offset: 2, limit: 1 })).toMatchObject({
      content: "2|b",
      total_lines: 3,
      truncated: true,
      extracted_document: true,
    })
  })

  test("a broken document is reported as binary, a broken notebook is read as text", async () => {
    await using bench = await toolBench({ workFiles: { "a.docx": "x", "a.xlsx": "x", "a.ipynb": "{ broken" } })
    expect(await bench.call(readFile, { path: "a.docx" })).toEqual({
      error: expect.stringMatching(/^a\.docx is a binary file \(document\), and its text could not be extracted: /),
      is_binary: true,
      file_size: 1,
    })
    expect(await bench.call(readFile, { path: "a.xlsx" })).toMatchObject({ is_binary: true })
    expect(await bench.call(readFile, { path: "a.ipynb" })).toMatchObject({ content: "1|{ broken" })
  })
})
