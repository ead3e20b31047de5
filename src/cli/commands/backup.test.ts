import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { createWriteStream } from "node:fs"
import { dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { describe, expect, test } from "vitest"
import { openPromise } from "yauzl"
import { ZipFile } from "yazl"
import { systemClock } from "../../base/clock.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import { createTestHome, type TestHome } from "../../../test/support/command-run.ts"

const SESSION = toSessionId("20260101_100000_aaaaaa")

function put(home: TestHome, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(home.home.file(name)), { recursive: true })
    writeFileSync(home.home.file(name), text)
  }
}

async function addSession(home: TestHome): Promise<() => Promise<void>> {
  const log = { debug: () => undefined, warning: () => undefined }
  const store = await openSqliteStore({ path: home.home.file("state.db"), clock: systemClock, log })
  await store.createSession({ id: SESSION, source: "cli", startedAt: 1 })
  await store.append(SESSION, [{ role: "user", content: "remember me" }])
  return () => store.close()
}

async function namesInZip(path: string): Promise<readonly string[]> {
  const zip = await openPromise(path)
  const names: string[] = []
  for await (const entry of zip.eachEntry()) names.push(entry.fileName)
  return names.toSorted()
}

async function makeZip(path: string, entries: Record<string, { text: string; mode?: number }>): Promise<void> {
  const zip = new ZipFile()
  const done = pipeline(zip.outputStream, createWriteStream(path))
  for (const [name, { text, mode }] of Object.entries(entries))
    zip.addBuffer(Buffer.from(text), name, mode === undefined ? {} : { mode })
  zip.end()
  await done
}

/** yazl refuses dangerous names, so they are put in after the fact; both names must be equally long. */
function renameInZip(path: string, from: string, to: string): void {
  const bytes = readFileSync(path, "latin1").replaceAll(from, to)
  writeFileSync(path, bytes, "latin1")
}

describe("full backup", () => {
  test("packs all profiles with a consistent copy of a database in use, and nothing that does not belong", async () => {
    using home = createTestHome()
    put(home, {
      "config.yaml": "agent: {}\n",
      ".env": "A=b\n",
      "profiles/coder/config.yaml": "x: 1\n",
      "skills/a/SKILL.md": "skill",
      "backups/old.zip": "no",
      "checkpoints/store/x": "no",
      "node_modules/x/y": "no",
      "skills/a/.git/HEAD": "no",
      "hermes-agent/src/x": "no",
      "profiles/coder/hermes-agent/keep": "yes",
      "gateway.pid": "no",
      "kanban.db-journal": "no",
    })
    symlinkSync("/etc/passwd", home.home.file("link"))
    const close = await addSession(home)
    const output = join(home.directory, "out")
    const { code, out, err } = await home.run(["backup", "-o", output])
    await close()
    expect({ code, err }).toEqual({ code: 0, err: "" })
    expect(out).toMatch(/^Packed 6 files \(.*\) into ~\/out\.zip\.\nRestore it with: hermes import ~\/out\.zip\n$/)
    expect(await namesInZip(`${output}.zip`)).toEqual([
      ".env",
      "config.yaml",
      "profiles/coder/config.yaml",
      "profiles/coder/hermes-agent/keep",
      "skills/a/SKILL.md",
      "state.db",
    ])
    expect(statSync(`${output}.zip`).mode & 0o777).toBe(0o600)
    expect(readdirSync(home.directory).toSorted()).toEqual([".hermes", "out.zip"])
  })

  test("goes to the user's home or into a named directory, under a name with the time", async () => {
    using home = createTestHome()
    put(home, { "config.yaml": "" })
    mkdirSync(join(home.directory, "there"))
    await home.run(["backup"])
    await home.run(["backup", "-o", join(home.directory, "there")])
    const pattern = /^hermes-backup-\d{4}-\d\d-\d\d-\d{6}\.zip$/
    expect(readdirSync(home.directory).filter((name) => pattern.test(name))).toHaveLength(1)
    expect(readdirSync(join(home.directory, "there")).filter((name) => pattern.test(name))).toHaveLength(1)
  })

  test("what cannot be saved is named and does not stop it", async () => {
    using home = createTestHome()
    put(home, { "config.yaml": "", "broken.db": "this is no database".repeat(100) })
    const { code, out, err } = await home.run(["backup", "-o", join(home.directory, "b.zip")])
    expect(code).toBe(0)
    expect(out).toContain("Packed 1 file ")
    expect(err).toMatch(/^Not saved: broken\.db: .+\n$/)
  })

  test.each([
    [["-o", "/no/such/directory/x.zip"], 1],
    [["-l", "x"], 2],
  ])("%j exits %i with one sentence", async (flags, code) => {
    using home = createTestHome()
    put(home, { "config.yaml": "" })
    const result = await home.run(["backup", ...flags])
    expect(result.code).toBe(code)
    expect(result.err.trimEnd().split("\n")).toHaveLength(1)
  })

  test("an interrupted backup leaves nothing behind", async () => {
    using home = createTestHome()
    put(home, { "config.yaml": "" })
    const { code } = await home.run(["backup", "-o", join(home.directory, "b.zip")], { signal: AbortSignal.abort() })
    expect(code).toBe(130)
    expect(readdirSync(home.directory)).toEqual([".hermes"])
  })
})

describe("quick snapshot", () => {
  test("keeps the essential files with a manifest", async () => {
    using home = createTestHome()
    put(home, {
      "config.yaml": "x: 1\n",
      ".env": "A=b\n",
      "channel_directory.json": "{}",
      "pairing/x.json": "{}",
      "skills/a/SKILL.md": "no",
    })
    const close = await addSession(home)
    const { code, out } = await home.run(["backup", "-q", "-l", "before the change"])
    await close()
    expect(code).toBe(0)
    const [id = ""] = readdirSync(home.home.file("state-snapshots"))
    expect(id).toMatch(/^\d{8}-\d{6}-before-the-change$/)
    expect(out).toContain(`Snapshot ${id}: 5 files`)
    const folder = home.home.file("state-snapshots", id)
    expect(JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"))).toMatchObject({
      id,
      label: "before the change",
      file_count: 5,
      files: { "config.yaml": 5, ".env": 4, "channel_directory.json": 2, "pairing/x.json": 2 },
    })
    expect(existsSync(join(folder, "state.db"))).toBe(true)
  })

  test("only the newest twenty stay, and two within a second are two", async () => {
    using home = createTestHome()
    put(home, { "config.yaml": "" })
    for (let index = 0; index < 20; index += 1)
      mkdirSync(home.home.file("state-snapshots", `20200101-0000${String(index).padStart(2, "0")}`), {
        recursive: true,
      })
    await home.run(["backup", "-q"])
    await home.run(["backup", "-q"])
    const names = readdirSync(home.home.file("state-snapshots")).toSorted()
    expect(names).toHaveLength(20)
    expect(names[0]).toBe("20200101-000002")
  })
})

describe("import", () => {
  test("brings everything back to an empty home, private, with its commands", async () => {
    using home = createTestHome()
    put(home, {
      "config.yaml": "agent:\n  max_turns: 3\n",
      ".env": "A=b\n",
      "profiles/coder/config.yaml": "x: 1\n",
      "hooks/run.sh": "#!/bin/sh\n",
    })
    chmodSync(home.home.file("hooks/run.sh"), 0o755)
    await (
      await addSession(home)
    )()
    const archive = join(home.directory, "b.zip")
    await home.run(["backup", "-o", archive])
    using fresh = createTestHome()
    const { code, out } = await fresh.run(["import", archive])
    expect(code).toBe(0)
    expect(out).toContain("Restored 5 files to ~/.hermes.\n")
    expect(readFileSync(fresh.home.file("config.yaml"), "utf8")).toBe("agent:\n  max_turns: 3\n")
    expect(statSync(fresh.home.file(".env")).mode & 0o777).toBe(0o600)
    expect(statSync(fresh.home.file("hooks/run.sh")).mode & 0o777).toBe(0o700)
    expect((await fresh.run(["sessions", "show", SESSION])).out).toContain("remember me")
    expect(existsSync(join(fresh.directory, ".local", "bin", "coder"))).toBe(true)
    expect(readdirSync(fresh.home.path).filter((name) => name.startsWith(".import"))).toEqual([])
  })

  test("asks before it replaces, and removes the side files of a replaced database", async () => {
    using home = createTestHome()
    const archive = join(home.directory, "b.zip")
    await makeZip(archive, { "config.yaml": { text: "new: 1\n" }, "state.db": { text: "new database" } })
    put(home, { "config.yaml": "old: 1\n", "state.db-wal": "old", "notes.txt": "stays" })
    expect((await home.run(["import", archive])).code).toBe(1)
    expect((await home.run(["import", archive], { answers: ["n"] })).out).toBe("Nothing was changed.\n")
    expect(readFileSync(home.home.file("config.yaml"), "utf8")).toBe("old: 1\n")
    expect((await home.run(["import", archive, "-f"])).code).toBe(0)
    expect(readFileSync(home.home.file("config.yaml"), "utf8")).toBe("new: 1\n")
    expect(existsSync(home.home.file("state.db-wal"))).toBe(false)
    expect(existsSync(home.home.file("notes.txt"))).toBe(true)
  })

  test.each([".hermes/", "hermes/"])("a single wrapping folder %s is left out", async (folder) => {
    using home = createTestHome()
    const archive = join(home.directory, "b.zip")
    await makeZip(archive, { [`${folder}config.yaml`]: { text: "a: 1\n" }, [`${folder}skills/x`]: { text: "x" } })
    expect((await home.run(["import", archive])).code).toBe(0)
    expect(existsSync(home.home.file("config.yaml")) && existsSync(home.home.file("skills", "x"))).toBe(true)
  })

  test("entries that would leave the folder are refused one by one", async () => {
    using home = createTestHome()
    const archive = join(home.directory, "b.zip")
    await makeZip(archive, {
      "config.yaml": { text: "a: 1\n" },
      "ab/escape-one": { text: "bad" },
      "xslash-two": { text: "bad" },
      link: { text: "/etc/passwd", mode: 0o120777 },
    })
    renameInZip(archive, "ab/escape-one", "../escape-one")
    renameInZip(archive, "xslash-two", "/slash-two")
    const { code, out, err } = await home.run(["import", archive])
    expect(code).toBe(0)
    expect(out).toContain("Restored 1 file ")
    expect(err.trimEnd().split("\n")).toEqual([
      'Not restored: "../escape-one": its path leaves the folder',
      'Not restored: "/slash-two": its path is not relative',
      'Not restored: "link": it is a link',
    ])
    expect(existsSync(join(home.directory, "escape-one"))).toBe(false)
  })

  test.each<[string, (path: string) => Promise<void> | void, RegExp]>([
    ["a missing file", () => undefined, /^There is no file /],
    ["no zip", (path) => writeFileSync(path, "hello"), /is not a readable zip file/],
    ["a zip of something else", (path) => makeZip(path, { "readme.txt": { text: "x" } }), /is not a backup of Hermes/],
    [
      "a damaged zip",
      async (path) => {
        await makeZip(path, { "config.yaml": { text: "a".repeat(5000) }, "state.db": { text: "b".repeat(5000) } })
        const bytes = readFileSync(path)
        bytes.fill(0xff, 60, 80)
        writeFileSync(path, bytes)
      },
      /is damaged \(.*\); nothing was changed\.\n$/,
    ],
  ])("%s changes nothing and exits 1", async (_name, prepare, sentence) => {
    using home = createTestHome()
    put(home, { "config.yaml": "old: 1\n" })
    const archive = join(home.directory, "b.zip")
    await prepare(archive)
    const { code, err } = await home.run(["import", archive, "-f"])
    expect(code).toBe(1)
    expect(err).toMatch(sentence)
    expect(err.trimEnd().split("\n")).toHaveLength(1)
    expect(readFileSync(home.home.file("config.yaml"), "utf8")).toBe("old: 1\n")
    expect(readdirSync(home.home.path).filter((name) => name.startsWith(".import"))).toEqual([])
  })

  test("a running gateway is in the way", async () => {
    using home = createTestHome()
    const archive = join(home.directory, "b.zip")
    await makeZip(archive, { "config.yaml": { text: "a: 1\n" } })
    put(home, { "gateway.pid": JSON.stringify({ pid: process.pid }) })
    expect(await home.run(["import", archive, "-f"])).toEqual({
      code: 1,
      out: "",
      err: `A gateway runs for ~/.hermes (process ${process.pid}). Stop it first.\n`,
    })
  })
})
