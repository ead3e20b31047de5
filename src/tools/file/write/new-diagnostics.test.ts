import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { toolBench } from "../../../../test/fixtures/tools/tool-bench.ts"
import type { FileErrors } from "../../../exec/language-server/language-diagnostics.ts"
import type { DiagnosticsPort } from "../../../toolkit/ports/diagnostics.ts"
import { formatDiagnostics } from "./new-diagnostics.ts"
import { patch } from "../patch.ts"
import { writeFile } from "../write-file.ts"

const errors = (path: string, count: number, message = "wrong"): FileErrors => ({
  path,
  errors: Array.from({ length: count }, (_, index) => ({
    line: index + 1,
    column: 2,
    message,
    code: "C1",
    source: "srv",
  })),
})

/** A port that takes down what it was asked. */
function fakePort(found: readonly FileErrors[] = []) {
  const asked: (readonly string[])[] = []
  const port: DiagnosticsPort = {
    before: (paths) => {
      asked.push(paths)
      return Promise.resolve({
        after: (changed) => {
          asked.push(changed)
          return Promise.resolve(found)
        },
      })
    },
  }
  return { asked, port }
}

describe("the text", () => {
  test("one block per file, one line per error, without unknown fields", async () => {
    await using bench = await toolBench()
    const found: FileErrors[] = [
      errors(join(bench.home.workdir, "src/a.ts"), 1),
      {
        path: '/else/b".py',
        errors: [{ line: 3, column: 9, message: "two\n  lines </diagnostics>", code: "", source: "" }],
      },
    ]
    const redact = (text: string): string => text.replaceAll("wrong", "***")
    expect(formatDiagnostics(found, { workspace: bench.workspace, redact })).toBe(
      '<diagnostics file="src/a.ts">\nERROR [1:2] *** [C1] (srv)\n</diagnostics>\n' +
        '<diagnostics file="/else/b&quot;.py">\nERROR [3:9] two lines ‹/diagnostics>\n</diagnostics>',
    )
  })

  test("at most 20 errors of a file and 4000 characters; the others are counted", async () => {
    await using bench = await toolBench()
    const context = { workspace: bench.workspace, redact: (text: string): string => text }
    const short = formatDiagnostics([errors("/a", 25), errors("/b", 2)], context)
    expect(short.split("\n").filter((line) => line.startsWith("ERROR"))).toHaveLength(22)
    expect(short.split("\n").at(-1)).toBe("(5 more new errors are not shown)")
    const long = formatDiagnostics([errors("/a", 25, "x".repeat(900)), errors("/b", 9, "y".repeat(5000))], context)
    expect(long.length).toBeLessThanOrEqual(4000)
    expect(long.split("\n").at(-1)).toBe("(30 more new errors are not shown)")
  })
})

test("the summary has the number of new errors", async () => {
  await using bench = await toolBench()
  const said = async (count: number): Promise<string | undefined> => {
    const { port } = fakePort([errors("/a", count)])
    return (await bench.result(writeFile, { path: `${count}.x`, content: "x" }, { ports: { diagnostics: port } }))
      .summary
  }
  expect([await said(0), await said(1), await said(2)]).toEqual([
    "1 byte written to a new file",
    "1 byte written to a new file, 1 new error",
    "1 byte written to a new file, 2 new errors",
  ])
})

describe("the tools", () => {
  test("write_file and patch request diagnostics before and after, and report new errors", async () => {
    await using bench = await toolBench({ workFiles: { "a.x": "old\n" } })
    const path = join(bench.home.workdir, "a.x")
    const { asked, port } = fakePort([errors(path, 1)])
    const more = { ports: { diagnostics: port } }
    const field = { lsp_diagnostics: '<diagnostics file="a.x">\nERROR [1:2] wrong [C1] (srv)\n</diagnostics>' }
    expect(await bench.call(writeFile, { path: "a.x", content: "new\n" }, more)).toMatchObject(field)
    expect(await bench.call(patch, { path: "a.x", old_string: "new", new_string: "newer" }, more)).toMatchObject(field)
    expect(asked).toEqual([[path], [path], [path], [path]])
  })

  test("a patch of several files requests diagnostics for all and reports those of written, not moved files", async () => {
    await using bench = await toolBench({ workFiles: { "a.x": "old\n", "b.x": "b\n", "c.x": "c\n" } })
    const at = (name: string): string => join(bench.home.workdir, name)
    const { asked, port } = fakePort()
    const text =
      "*** Update File: a.x\n-old\n+new\n*** Add File: n.x\n+n\n*** Delete File: b.x\n*** Move File: c.x -> d.x\n" +
      "*** Update File: d.x\n-c\n+d\n"
    const answer = await bench.call(patch, { mode: "patch", patch: text }, { ports: { diagnostics: port } })
    expect(answer).toMatchObject({ success: true })
    expect(answer).not.toHaveProperty("lsp_diagnostics")
    expect(asked).toEqual([["a.x", "n.x", "b.x", "c.x", "d.x"].map(at), ["a.x", "n.x"].map(at)])
  })

  test("an edit that does not apply requests no diagnostics, and a file with secrets is not sent to a server", async () => {
    await using bench = await toolBench({ workFiles: { "a.x": "old\n", ".env": "A=1\n" } })
    const { asked, port } = fakePort()
    const more = { ports: { diagnostics: port } }
    await bench.call(patch, { path: "a.x", old_string: "absent words", new_string: "b" }, more)
    await bench.call(patch, { mode: "patch", patch: "*** Update File: a.x\n-absent words\n+b\n" }, more)
    await bench.call(writeFile, { path: ".env", content: "A=2\n" }, more)
    expect(asked).toEqual([])
  })

  test("an interrupt while waiting for servers keeps the file; a concurrent change is not lost", async () => {
    await using bench = await toolBench({ workFiles: { "a.x": "one\n", "b.x": "one\ntwo\n" } })
    const at = (name: string): string => join(bench.home.workdir, name)
    const abort = new AbortController()
    const interrupted: DiagnosticsPort = {
      before: () => {
        abort.abort()
        return Promise.resolve(undefined)
      },
    }
    const more = { signal: abort.signal, ports: { diagnostics: interrupted } }
    for (const call of [
      bench.call(writeFile, { path: "a.x", content: "new\n" }, more),
      bench.call(patch, { path: "a.x", old_string: "one", new_string: "new" }, more),
      bench.call(patch, { mode: "patch", patch: "*** Update File: a.x\n-one\n+new\n" }, more),
    ]) {
      expect(await call).toMatchObject({ error: expect.stringContaining("interrupted; n") })
    }
    expect(await readFile(at("a.x"), "utf8")).toBe("one\n")
    const elsewhere: DiagnosticsPort = {
      before: async () => {
        await bench.workspace.files.write("b.x", "one\ntwo\nchanged outside\n")
        return { after: () => Promise.resolve([]) }
      },
    }
    await bench.call(patch, { path: "b.x", old_string: "one", new_string: "1" }, { ports: { diagnostics: elsewhere } })
    expect(await readFile(at("b.x"), "utf8")).toBe("1\ntwo\nchanged outside\n")
  })
})
