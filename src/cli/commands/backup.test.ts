import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createWriteStream } from "node:fs"
import { dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { describe, expect, test } from "vitest"
import { ZipFile } from "yazl"
import { systemClock } from "../../base/clock.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import { createCliHome, type CliHome } from "../../../test/support/cli-home.ts"

const SESSION = toSessionId("20260101_100000_aaaaaa")

function put(home: CliHome, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(home.home.file(name)), { recursive: true })
    writeFileSync(home.home.file(name), text)
  }
}

async function addSession(home: CliHome): Promise<() => Promise<void>> {
  const log = { debug: () => undefined, warning: () => undefined }
  const store = await openSqliteStore({ path: home.home.file("state.db"), clock: systemClock, log })
  await store.createSession({ id: SESSION, source: "cli", startedAt: 1 })
  await store.append(SESSION, [{ role: "user", content: "remember me" }])
  return () => store.close()
}

async function makeZip(path: string, entries: Record<string, { text: string; mode?: number }>): Promise<void> {
  const zip = new ZipFile()
  const done = pipeline(zip.outputStream, createWriteStream(path))
  for (const [name, { text, mode }] of Object.entries(entries))
    zip.addBuffer(Buffer.from(text), name, mode === undefined ? {} : { mode })
  zip.end()
  await done
}

describe("full backup", () => {
  test("prints the size, the path and how to restore it; names what was not saved", async () => {
    using home = createCliHome()
    put(home, { "config.yaml": "", "broken.db": "this is not a database".repeat(100) })
    const { code, out, err } = await home.run(["backup", "-o", join(home.directory, "out")])
    expect(code).toBe(0)
    expect(out).toMatch(/^Packed 1 file \(.*\) into ~\/out\.zip\.\nRestore it with: hermes import ~\/out\.zip\n$/)
    expect(err).toMatch(/^Not saved: broken\.db: .+\n$/)
  })

  test.each([
    [["-o", "/no/such/directory/x.zip"], 1],
    [["-l", "x"], 2],
    [["-q", "-o", "x.zip"], 2],
  ])("%j exits %i with one sentence", async (flags, code) => {
    using home = createCliHome()
    put(home, { "config.yaml": "" })
    const result = await home.run(["backup", ...flags])
    expect(result.code).toBe(code)
    expect(result.err.trimEnd().split("\n")).toHaveLength(1)
  })

  test("an interrupted backup exits 130", async () => {
    using home = createCliHome()
    put(home, { "config.yaml": "" })
    const output = join(home.directory, "b.zip")
    expect((await home.run(["backup", "-o", output], { signal: AbortSignal.abort() })).code).toBe(130)
  })
})

test("a quick snapshot prints its id, size and path", async () => {
  using home = createCliHome()
  put(home, { "config.yaml": "x: 1\n" })
  expect((await home.run(["backup", "-q", "-l", "before the change"])).out).toMatch(
    /^Snapshot (\d{8}-\d{6}-before-the-change): 1 file, 5 B, in ~\/\.hermes\/state-snapshots\/\1\.\n$/,
  )
})

describe("import", () => {
  test("restores everything to an empty home, with the commands of the profiles", async () => {
    using home = createCliHome()
    put(home, {
      "config.yaml": "agent:\n  max_turns: 3\n",
      ".env": "A=b\n",
      "profiles/coder/config.yaml": "x: 1\n",
    })
    await (
      await addSession(home)
    )()
    const archive = join(home.directory, "b.zip")
    await home.run(["backup", "-o", archive])
    using fresh = createCliHome()
    const { code, out } = await fresh.run(["import", archive])
    expect(code).toBe(0)
    expect(out).toContain("Restored 4 files to ~/.hermes.\n")
    expect(readFileSync(fresh.home.file("config.yaml"), "utf8")).toBe("agent:\n  max_turns: 3\n")
    expect((await fresh.run(["sessions", "show", SESSION])).out).toContain("remember me")
    expect(existsSync(join(fresh.directory, ".local", "bin", "coder"))).toBe(true)
  })

  test("asks before it replaces files", async () => {
    using home = createCliHome()
    const archive = join(home.directory, "b.zip")
    await makeZip(archive, { "config.yaml": { text: "new: 1\n" }, "state.db": { text: "new database" } })
    put(home, { "config.yaml": "old: 1\n" })
    expect((await home.run(["import", archive])).code).toBe(1)
    expect((await home.run(["import", archive], { answers: ["n"] })).out).toBe("Nothing was changed.\n")
    expect(readFileSync(home.home.file("config.yaml"), "utf8")).toBe("old: 1\n")
    expect((await home.run(["import", archive, "-f"])).code).toBe(0)
    expect(readFileSync(home.home.file("config.yaml"), "utf8")).toBe("new: 1\n")
  })

  test("names the entries that it does not restore", async () => {
    using home = createCliHome()
    const archive = join(home.directory, "b.zip")
    await makeZip(archive, { "config.yaml": { text: "a: 1\n" }, link: { text: "/etc/passwd", mode: 0o120777 } })
    expect(await home.run(["import", archive])).toEqual({
      code: 0,
      out: "Restored 1 file to ~/.hermes.\n",
      err: 'Not restored: "link": it is a link\n',
    })
  })

  test.each<[string, (path: string) => Promise<void> | void, RegExp]>([
    ["a missing file", () => undefined, /^There is no file /],
    ["a file that is not a zip", (path) => writeFileSync(path, "hello"), /is not a readable zip file/],
    ["another zip", (path) => makeZip(path, { "readme.txt": { text: "x" } }), /is not a backup of Hermes/],
  ])("%s exits 1 with one sentence", async (_name, prepare, sentence) => {
    using home = createCliHome()
    const archive = join(home.directory, "b.zip")
    await prepare(archive)
    const { code, err } = await home.run(["import", archive, "-f"])
    expect(code).toBe(1)
    expect(err).toMatch(sentence)
    expect(err.trimEnd().split("\n")).toHaveLength(1)
  })

  test("is refused while a gateway runs", async () => {
    using home = createCliHome()
    const archive = join(home.directory, "b.zip")
    await makeZip(archive, { "config.yaml": { text: "a: 1\n" } })
    put(home, { "gateway.pid": JSON.stringify({ pid: process.pid }) })
    expect(await home.run(["import", archive, "-f"])).toEqual({
      code: 1,
      out: "",
      err: `A gateway is running for ~/.hermes (process ${process.pid}). Stop it first: \`kill ${process.pid}\`\n`,
    })
  })
})
