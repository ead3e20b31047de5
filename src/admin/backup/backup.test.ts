import { chmodSync, createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { describe, expect, test } from "vitest"
import { openPromise } from "yauzl"
import { ZipFile } from "yazl"
import { createTestHomeContext, type TestHomeContext } from "../../../test/support/home-context.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import type { SessionStore } from "../../state/store.ts"
import { readTranscript } from "../sessions/read-sessions.ts"
import { writeFullBackup, type BackupEvent } from "./full-backup.ts"
import { takeSnapshot } from "./quick-snapshot.ts"
import { checkRestore, restoreBackup } from "./restore-backup.ts"

const SESSION = toSessionId("20260101_100000_aaaaaa")
const signal = new AbortController().signal

/** Adds a session and returns the store, which stays open like that of a running agent. */
async function openStoreWithSession({ home, clock, log }: TestHomeContext): Promise<SessionStore> {
  const store = await openSqliteStore({ path: home.file("state.db"), clock, log })
  await store.createSession({ id: SESSION, source: "cli", startedAt: 1 })
  await store.append(SESSION, [{ role: "user", content: "remember me" }])
  return store
}

function backUp(context: TestHomeContext, output?: string): Promise<readonly BackupEvent[]> {
  return Array.fromAsync(writeFullBackup(context, { output, signal }))
}

async function namesInZip(path: string): Promise<readonly string[]> {
  const zip = await openPromise(path)
  const names: string[] = []
  for await (const entry of zip.eachEntry()) names.push(entry.fileName)
  return names.toSorted()
}

async function writeZip(
  path: string,
  entries: Readonly<Record<string, { readonly text: string; readonly mode?: number }>>,
): Promise<void> {
  const zip = new ZipFile()
  const done = pipeline(zip.outputStream, createWriteStream(path))
  for (const [name, { text, mode }] of Object.entries(entries))
    zip.addBuffer(Buffer.from(text), name, mode === undefined ? {} : { mode })
  zip.end()
  await done
}

/** Puts a name into a zip file that yazl would refuse to write; both names must have the same length. */
function renameInZip(path: string, from: string, to: string): void {
  writeFileSync(path, readFileSync(path, "latin1").replaceAll(from, to), "latin1")
}

describe("full backup", () => {
  test("packs all profiles with a consistent copy of an open database, and skips what can be recreated", async () => {
    using context = createTestHomeContext({
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
      "cache/code/abc/chunk.js": "no",
      "cache/model_lists.json": "no",
      "cache/documents/keep.pdf": "yes",
      "profiles/coder/cache/code/chunk.js": "no",
      "lsp/node_modules/x": "no",
      "auth.json.lock": "no",
      "kanban.db-journal": "no",
    })
    symlinkSync("/etc/passwd", context.home.file("link"))
    const store = await openStoreWithSession(context)
    const output = join(context.directory, "out.zip")
    const events = await backUp(context, join(context.directory, "out"))
    await store.close()
    expect(events).toEqual([
      { type: "end", result: { ok: true, value: expect.objectContaining({ output, files: 7, skipped: [] }) } },
    ])
    expect(await namesInZip(output)).toEqual([
      ".env",
      "cache/documents/keep.pdf",
      "config.yaml",
      "profiles/coder/config.yaml",
      "profiles/coder/hermes-agent/keep",
      "skills/a/SKILL.md",
      "state.db",
    ])
    expect(statSync(output).mode & 0o777).toBe(0o600)
    expect(readdirSync(context.directory).toSorted()).toEqual([".hermes", "out.zip"])
  })

  test("is written to the user's home directory, or into a given directory, under a name with the time", async () => {
    using context = createTestHomeContext({ "config.yaml": "" })
    const directory = join(context.directory, "there")
    mkdirSync(directory)
    await backUp(context)
    await backUp(context, directory)
    const pattern = /^hermes-backup-\d{4}-\d\d-\d\d-\d{6}\.zip$/
    expect(readdirSync(context.directory).filter((name) => pattern.test(name))).toHaveLength(1)
    expect(readdirSync(directory).filter((name) => pattern.test(name))).toHaveLength(1)
  })

  test("reports progress and continues after a file that cannot be saved", async () => {
    const files = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`skills/${index}`, ""]))
    using context = createTestHomeContext({ ...files, "broken.db": "this is not a database".repeat(100) })
    expect(await backUp(context, join(context.directory, "b.zip"))).toEqual([
      { type: "progress", files: 500 },
      {
        type: "end",
        result: {
          ok: true,
          value: expect.objectContaining({ files: 501, skipped: [expect.stringMatching(/^broken\.db: /)] }),
        },
      },
    ])
  })

  test("an aborted or abandoned backup leaves nothing behind", async () => {
    const files = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`skills/${index}`, ""]))
    using context = createTestHomeContext(files)
    const output = join(context.directory, "b.zip")
    const aborted = writeFullBackup(context, { output, signal: AbortSignal.abort() })
    await expect(Array.fromAsync(aborted)).rejects.toThrow()
    for await (const event of writeFullBackup(context, { output, signal })) if (event.type === "progress") break
    expect(readdirSync(context.directory)).toEqual([".hermes"])
  })

  test("a path that cannot be written, and a home that does not exist, are failures", async () => {
    using context = createTestHomeContext({ "config.yaml": "" }, {})
    const failure = { type: "end", result: { ok: false, error: expect.objectContaining({ kind: "failed" }) } }
    expect(await backUp(context, "/no/such/directory/x.zip")).toEqual([failure])
    using missing = createTestHomeContext({}, { HERMES_HOME: "/no/such/home" })
    expect(await backUp(missing)).toEqual([failure])
    expect(await takeSnapshot(missing, { label: undefined })).toMatchObject({ ok: false })
  })
})

describe("quick snapshot", () => {
  test("copies the essential files and writes a manifest", async () => {
    using context = createTestHomeContext({
      "config.yaml": "x: 1\n",
      ".env": "A=b\n",
      "channel_directory.json": "{}",
      "pairing/x.json": "{}",
      "skills/a/SKILL.md": "no",
    })
    const store = await openStoreWithSession(context)
    const snapshot = await takeSnapshot(context, { label: "before the change" })
    await store.close()
    const [id = ""] = readdirSync(context.home.file("state-snapshots"))
    const path = context.home.file("state-snapshots", id)
    expect(id).toMatch(/^\d{8}-\d{6}-before-the-change$/)
    expect(snapshot).toMatchObject({ ok: true, value: { id, path, files: 5 } })
    expect(JSON.parse(readFileSync(join(path, "manifest.json"), "utf8"))).toMatchObject({
      id,
      label: "before the change",
      file_count: 5,
      files: { "config.yaml": 5, ".env": 4, "channel_directory.json": 2, "pairing/x.json": 2 },
    })
    expect(existsSync(join(path, "state.db"))).toBe(true)
  })

  test("keeps the newest twenty; two within one second are two snapshots", async () => {
    using context = createTestHomeContext({ "config.yaml": "" })
    for (let index = 0; index < 20; index += 1)
      mkdirSync(context.home.file("state-snapshots", `20200101-0000${String(index).padStart(2, "0")}`), {
        recursive: true,
      })
    const clock = { ...context.clock, now: () => Date.UTC(2026, 0, 1) }
    await takeSnapshot({ ...context, clock }, { label: undefined })
    await takeSnapshot({ ...context, clock }, { label: undefined })
    const names = readdirSync(context.home.file("state-snapshots")).toSorted()
    expect(names).toHaveLength(20)
    expect([names[0], ...names.slice(-2)]).toEqual(["20200101-000002", "20260101-000000", "20260101-000000-2"])
  })
})

describe("restore", () => {
  const options = { commands: [], signal }

  test("restores a backup to an empty home, readable by the owner alone, with the commands of its profiles", async () => {
    using context = createTestHomeContext({
      "config.yaml": "agent:\n  max_turns: 3\n",
      ".env": "A=b\n",
      "profiles/coder/config.yaml": "x: 1\n",
      "hooks/run.sh": "#!/bin/sh\n",
    })
    chmodSync(context.home.file("hooks/run.sh"), 0o755)
    await (await openStoreWithSession(context)).close()
    const archive = join(context.directory, "b.zip")
    await backUp(context, archive)
    using fresh = createTestHomeContext()
    expect(await checkRestore(fresh, archive)).toEqual({ ok: true, value: { replacesData: false } })
    const command = join(fresh.directory, ".local", "bin", "coder")
    expect(await restoreBackup(fresh, archive, options)).toMatchObject({
      ok: true,
      value: { files: 5, refused: [], wrappers: [{ profile: "coder", path: command }] },
    })
    expect(readFileSync(fresh.home.file("config.yaml"), "utf8")).toBe("agent:\n  max_turns: 3\n")
    expect(statSync(fresh.home.file(".env")).mode & 0o777).toBe(0o600)
    expect(statSync(fresh.home.file("hooks/run.sh")).mode & 0o777).toBe(0o700)
    expect((await readTranscript(fresh, SESSION))?.messages.map(({ text }) => text)).toEqual(["remember me"])
    expect(existsSync(command)).toBe(true)
    expect(readdirSync(fresh.home.path).filter((name) => name.startsWith(".import"))).toEqual([])
  })

  test("keeps other files, and deletes the journal files of a replaced database", async () => {
    using context = createTestHomeContext({ "config.yaml": "old: 1\n", "state.db-wal": "old", "notes.txt": "stays" })
    const archive = join(context.directory, "b.zip")
    await writeZip(archive, { "config.yaml": { text: "new: 1\n" }, "state.db": { text: "new database" } })
    expect(await checkRestore(context, archive)).toEqual({ ok: true, value: { replacesData: true } })
    expect((await restoreBackup(context, archive, options)).ok).toBe(true)
    expect(readFileSync(context.home.file("config.yaml"), "utf8")).toBe("new: 1\n")
    expect(existsSync(context.home.file("state.db-wal"))).toBe(false)
    expect(existsSync(context.home.file("notes.txt"))).toBe(true)
  })

  test.each([".hermes/", "hermes/"])("leaves out a single wrapping directory %s", async (directory) => {
    using context = createTestHomeContext()
    const archive = join(context.directory, "b.zip")
    await writeZip(archive, {
      [`${directory}config.yaml`]: { text: "a: 1\n" },
      [`${directory}skills/x`]: { text: "x" },
    })
    expect((await restoreBackup(context, archive, options)).ok).toBe(true)
    expect(readdirSync(context.home.path).toSorted()).toEqual(["config.yaml", "skills"])
  })

  test("refuses entries outside the directory one by one", async () => {
    using context = createTestHomeContext()
    const archive = join(context.directory, "b.zip")
    await writeZip(archive, {
      "config.yaml": { text: "a: 1\n" },
      "ab/escape-one": { text: "bad" },
      "xslash-two": { text: "bad" },
      link: { text: "/etc/passwd", mode: 0o120777 },
    })
    renameInZip(archive, "ab/escape-one", "../escape-one")
    renameInZip(archive, "xslash-two", "/slash-two")
    expect(await restoreBackup(context, archive, options)).toMatchObject({
      ok: true,
      value: {
        files: 1,
        refused: [
          '"../escape-one": its path leaves the directory',
          '"/slash-two": its path is not relative',
          '"link": it is a link',
        ],
      },
    })
    expect(readdirSync(context.directory).toSorted()).toEqual([".hermes", "b.zip"])
  })

  test("a damaged archive changes nothing", async () => {
    using context = createTestHomeContext({ "config.yaml": "old: 1\n" })
    const archive = join(context.directory, "b.zip")
    await writeZip(archive, { "config.yaml": { text: "a".repeat(5000) }, "state.db": { text: "b".repeat(5000) } })
    const bytes = readFileSync(archive)
    bytes.fill(0xff, 60, 80)
    writeFileSync(archive, bytes)
    expect(await restoreBackup(context, archive, options)).toMatchObject({
      ok: false,
      error: {
        kind: "failed",
        message: expect.stringMatching(/is damaged \(.*\); nothing was changed\. Use another backup\.$/),
      },
    })
    expect(readdirSync(context.home.path)).toEqual(["config.yaml"])
    expect(readFileSync(context.home.file("config.yaml"), "utf8")).toBe("old: 1\n")
  })

  test("is refused for a missing file and while a gateway runs", async () => {
    using context = createTestHomeContext({ "gateway.pid": JSON.stringify({ pid: process.pid }) })
    const archive = join(context.directory, "b.zip")
    expect(await checkRestore(context, archive)).toMatchObject({
      ok: false,
      error: { message: `There is no file ${archive}.` },
    })
    await writeZip(archive, { "config.yaml": { text: "a: 1\n" } })
    expect(await checkRestore(context, archive)).toMatchObject({
      ok: false,
      error: {
        message: `A gateway is running for ~/.hermes (process ${process.pid}). Stop it first: \`kill ${process.pid}\``,
      },
    })
  })
})
