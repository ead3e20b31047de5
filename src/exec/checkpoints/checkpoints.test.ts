import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../../test/support/temporary-home.ts"
import { systemClock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { createCheckpoints } from "./checkpoints.ts"
import type { Checkpoints, CheckpointsOptions } from "./checkpoints.ts"
import { directoryBytes, pruneStore, pruneStoreIfDue, storeUsage } from "./prune-store.ts"
import { createShadowStore } from "./shadow-store.ts"
import { readEpoch, storePaths } from "./store-files.ts"
import type { SnapshotProblem } from "./turn-snapshots.ts"

const signal = new AbortController().signal
const path = process.env["PATH"] ?? ""
const settings = {
  enabled: true,
  maxSnapshots: 20,
  maxTotalMb: 500,
  maxFileMb: 10,
  autoPrune: true,
  retentionDays: 7,
  deleteOrphans: true,
  minIntervalHours: 24,
}

interface TestProject extends AsyncDisposable {
  readonly home: TemporaryHome
  readonly root: string
  readonly checkpoints: Checkpoints
  readonly lines: string[]
  readonly clock: { seconds: number }
  readonly write: (name: string, text: string) => void
  readonly read: (name: string) => string
  /** Begins a turn with a command, which may change any file. */
  readonly turn: (id: string) => Promise<readonly SnapshotProblem[]>
}

async function openProject(overrides: Partial<CheckpointsOptions> = {}): Promise<TestProject> {
  const home = await temporaryHome({ workFiles: { "package.json": "{}", "a.txt": "one" } })
  const root = home.workdir
  const lines: string[] = []
  const clock = { seconds: 1_800_000_000 }
  const checkpoints = createCheckpoints({
    home: home.path,
    userHome: home.userHome,
    initialDirectory: root,
    workdir: () => root,
    sessionId: () => "20260101_000000_abcdef",
    path,
    settings,
    clock: { now: () => clock.seconds * 1000, sleep: () => Promise.resolve() },
    log: createLogger({ sinks: [{ level: "INFO", write: (line) => lines.push(line) }], redact: (text) => text }),
    ...overrides,
  })
  return {
    home,
    root,
    checkpoints,
    lines,
    clock,
    write: (name, text) => {
      mkdirSync(join(root, name, ".."), { recursive: true })
      writeFileSync(join(root, name), text)
    },
    read: (name) => readFileSync(join(root, name), "utf8"),
    turn: async (id) => {
      checkpoints.beginTurn(id)
      return await checkpoints.beforeChange({ reason: `terminal ${id}`, signal })
    },
    async [Symbol.asyncDispose]() {
      await checkpoints.close(signal)
      await home[Symbol.asyncDispose]()
    },
  }
}

async function reasons(checkpoints: Checkpoints): Promise<readonly string[]> {
  return (await checkpoints.list({ signal })).map(({ reason }) => reason)
}

test("a turn takes one snapshot even if it changes three files, and none if nothing has changed", async () => {
  await using project = await openProject()
  project.checkpoints.beginTurn("first")
  for (const name of ["a.txt", "b.txt", "deep/c.txt"]) {
    await project.checkpoints.beforeChange({ paths: [name], reason: `write_file ${name}`, signal })
    project.write(name, "two")
  }
  await project.turn("second")
  await project.turn("third")
  expect(await project.checkpoints.list({ signal })).toEqual([
    {
      hash: expect.stringMatching(/^[0-9a-f]{40}$/u) as string,
      short: expect.stringMatching(/^[0-9a-f]{8}$/u) as string,
      time: 1_800_000_000,
      reason: "terminal second",
      turn: "second",
      session: "20260101_000000_abcdef",
      precedes: [],
      filesChanged: 3,
      insertions: 3,
      deletions: 1,
    },
    expect.objectContaining({ reason: "write_file a.txt", turn: "first", filesChanged: 0 }),
  ])
})

test("a restore brings deleted files back and removes new ones; restoring the undo snapshot reverts it", async () => {
  await using project = await openProject()
  project.write("gone.txt", "keep me")
  await project.turn("1")
  rmSync(join(project.root, "gone.txt"))
  project.write("new/file.txt", "new")
  const [snapshot] = await project.checkpoints.list({ signal })
  const restored = await project.checkpoints.restore(snapshot!.hash, { signal })
  expect(restored).toEqual({
    ok: true,
    value: {
      written: ["gone.txt"],
      removed: ["new/file.txt", "new/"],
      notRestored: [],
      kept: [],
      snapshot: { ...snapshot, insertions: 0 },
      undoHash: expect.any(String) as string,
    },
  })
  expect([project.read("gone.txt"), existsSync(join(project.root, "new"))]).toEqual(["keep me", false])
  expect(await reasons(project.checkpoints)).toEqual(["pre-rollback", "terminal 1"])
  const undoHash = restored.ok ? restored.value.undoHash : ""
  expect((await project.checkpoints.restore(undoHash.slice(0, 10), { signal })).ok).toBe(true)
  expect([project.read("new/file.txt"), existsSync(join(project.root, "gone.txt"))]).toEqual(["new", false])
})

test("a diff says that a file is too large to be shown", async () => {
  await using project = await openProject({ settings: { ...settings, maxFileMb: 1 } })
  await project.turn("1")
  project.write("a.txt", "x".repeat(2_000_000))
  const hash = (await project.checkpoints.list({ signal }))[0]!.hash
  const diff = await project.checkpoints.diff(hash, { signal })
  expect(diff).toMatchObject({ ok: true, value: { files: ["a.txt"] } })
  const lines = (diff.ok ? diff.value.text : "").split("\n").filter((line) => /^[-+][^-+]/u.test(line))
  expect(lines).toEqual(["-one", "+(content not shown: snapshots do not cover this file)"])
})

test("diff and restore work on a single file, even if a parent directory was replaced by a link", async () => {
  await using project = await openProject()
  project.write("dir/one", "1")
  project.write("dir/two", "2")
  await project.turn("1")
  rmSync(join(project.root, "dir"), { recursive: true })
  symlinkSync(project.home.userHome, join(project.root, "dir"))
  project.write("a.txt", "changed")
  const hash = (await project.checkpoints.list({ signal }))[0]!.hash
  expect(await project.checkpoints.diff(hash, { file: "a.txt", signal })).toMatchObject({
    ok: true,
    value: { files: ["a.txt"], truncated: false, text: expect.stringContaining("-one\n") as string },
  })
  const done = await project.checkpoints.restore(hash, { file: "./dir/one", signal })
  expect(done).toMatchObject({ ok: true, value: { written: ["dir/", "dir/one"], removed: [], notRestored: [] } })
  expect([project.read("dir/one"), existsSync(join(project.root, "dir/two")), project.read("a.txt")]).toEqual([
    "1",
    false,
    "changed",
  ])
  expect(existsSync(join(project.home.userHome, "one"))).toBe(false)
})

test("the store never contains secrets, build output or version control data", async () => {
  await using project = await openProject()
  for (const name of [".env", ".env.local", "node_modules/x/index.js", "sub/dist/out.js", "app.log", "x.zip"]) {
    project.write(name, `planted-${name}`)
  }
  project.write("build", "only directories of that name are excluded")
  execFileSync("git", ["init", "-q", join(project.root, "nested")])
  project.write("nested/code", "covered")
  await project.turn("1")
  const store = storePaths(project.home.path, path).gitDir
  const names = execFileSync("git", [
    "--git-dir",
    store,
    "log",
    "-1",
    "--all",
    "--format=",
    "--name-only",
    "-m",
    "--root",
  ])
  const tree = execFileSync("git", ["--git-dir", store, "ls-tree", "-r", "--name-only", "-z", await head(project)])
  expect(tree.toString().split("\0").filter(Boolean)).toEqual(["a.txt", "build", "nested/code", "package.json"])
  expect(names.toString()).not.toContain(".env")
  expect(
    execFileSync("git", ["--git-dir", store, "fsck", "--strict"], { stdio: ["ignore", "pipe", "pipe"] }).toString(),
  ).toBe("")
})

async function head(project: TestProject): Promise<string> {
  return (await project.checkpoints.list({ limit: 1, signal }))[0]!.hash
}

test("a restore does not overwrite or remove files that are too large for a snapshot", async () => {
  await using project = await openProject({ settings: { ...settings, maxFileMb: 0.001 } })
  project.write("grows", "small")
  project.write("large", "x".repeat(50_000))
  await project.turn("1")
  project.write("grows", "y".repeat(50_000))
  project.write("large", "small now")
  project.write("also", "z".repeat(50_000))
  const done = await project.checkpoints.restore(await head(project), { signal })
  // The undo snapshot saves files that the restore overwrites, regardless of their size.
  expect(done).toMatchObject({
    ok: true,
    value: {
      written: ["grows"],
      removed: [],
      notRestored: [],
      kept: [{ path: "also", why: "created since; too large for a snapshot" }],
    },
  })
  expect([project.read("grows"), project.read("large"), project.read("also").length]).toEqual([
    "small",
    "small now",
    50_000,
  ])
  expect((await project.checkpoints.restore(done.ok ? done.value.undoHash : "", { signal })).ok).toBe(true)
  expect(project.read("grows").length).toBe(50_000)
})

test("a restore keeps and reports a directory that contains excluded files", async () => {
  await using project = await openProject()
  project.write("thing", "a file")
  await project.turn("1")
  rmSync(join(project.root, "thing"))
  project.write("thing/node_modules/x", "installed")
  project.write("thing/y", "new")
  const done = await project.checkpoints.restore(await head(project), { signal })
  expect(done).toMatchObject({
    ok: true,
    value: {
      removed: ["thing/y"],
      notRestored: [{ path: "thing", why: "the directory contains files that checkpoints do not cover" }],
    },
  })
  expect(project.read("thing/node_modules/x")).toBe("installed")
})

test("a restore writes into read-only directories and restores their mode", async () => {
  await using project = await openProject()
  project.write("locked/x", "1")
  chmodSync(join(project.root, "locked"), 0o555)
  await project.turn("1")
  chmodSync(join(project.root, "locked"), 0o755)
  project.write("locked/x", "2")
  chmodSync(join(project.root, "locked"), 0o500)
  expect((await project.checkpoints.restore(await head(project), { signal })).ok).toBe(true)
  expect([project.read("locked/x"), lstatSync(join(project.root, "locked")).mode & 0o777]).toEqual(["1", 0o555])
})

test("a restore rejects the checkpoint of another project", async () => {
  await using project = await openProject()
  await using other = await openProject()
  await project.turn("1")
  await other.turn("1")
  const hash = await head(project)
  expect(await other.checkpoints.restore(hash, { signal })).toEqual({
    ok: false,
    error: `there is no checkpoint ${hash} of ${other.root}; list the checkpoints to see their hashes`,
  })
})

test("a change outside the project takes a snapshot of the project that contains the file", async () => {
  await using project = await openProject()
  const other = join(project.home.userHome, "other")
  mkdirSync(join(other, "src"), { recursive: true })
  writeFileSync(join(other, "go.mod"), "")
  writeFileSync(join(other, "src", "x.go"), "1")
  project.checkpoints.beginTurn("1")
  await project.checkpoints.beforeChange({ paths: ["~/other/src/x.go", "src/new/y.ts"], reason: "patch", signal })
  const usage = await storeUsage(storePaths(project.home.path, path), signal)
  expect(usage.projects.map(({ workdir, snapshots }) => [workdir, snapshots])).toEqual(
    expect.arrayContaining([
      [other, 1],
      [project.root, 1],
    ]),
  )
})

test.each([
  ["the home directory", (home: TemporaryHome) => home.userHome, "work in one of its subdirectories"],
  ["the root", () => "/", "the root of the file system is too large"],
  ["the Hermes home", (home: TemporaryHome) => home.path, "checkpoints do not cover the Hermes home directory"],
])("no checkpoint is taken of %s, and every call hears why", async (_name, workdir, reason) => {
  const opened: { home?: TemporaryHome } = {}
  await using project = await openProject({ workdir: () => workdir(opened.home!) })
  opened.home = project.home
  const problem = { kind: "unsupported", reason: expect.stringContaining(reason) as string }
  expect(await project.turn("1")).toMatchObject([problem])
  expect(await project.turn("2")).toMatchObject([problem])
  expect(project.lines).toEqual([expect.stringContaining(reason)])
})

test("without git every call hears why, and git is tried once", async () => {
  await using project = await openProject({ path: "/nonexistent" })
  const reason = "git cannot be started; install it to use checkpoints"
  const problems = [{ kind: "failed", directory: project.root, reason }]
  expect([await project.turn("1"), await project.turn("2")]).toEqual([problems, problems])
  expect(project.lines).toEqual([expect.stringContaining(reason)])
})

test("a snapshot that cannot be stored is reported for each turn and tried again in the next one", async () => {
  await using project = await openProject()
  const store = join(project.home.path, "checkpoints")
  writeFileSync(store, "not a directory")
  const failed = [{ kind: "failed", directory: project.root, reason: expect.any(String) as string }]
  expect(await project.turn("1")).toEqual(failed)
  rmSync(store)
  expect(await project.turn("2")).toEqual([])
  expect(await reasons(project.checkpoints)).toEqual(["terminal 2"])
})

test("calls that run in parallel all wait for the snapshot of their turn", async () => {
  await using project = await openProject()
  project.checkpoints.beginTurn("1")
  const change = { reason: "terminal", signal }
  await Promise.race([project.checkpoints.beforeChange(change), project.checkpoints.beforeChange(change)])
  project.write("a.txt", "two")
  expect((await project.checkpoints.restore(await head(project), { signal })).ok).toBe(true)
  expect(project.read("a.txt")).toBe("one")
})

test("a snapshot knows the messages whose turns it precedes, also when several turns share it", async () => {
  let message = 100.5
  await using project = await openProject({ messageTimestamp: () => message })
  await project.turn("1")
  project.write("a.txt", "two")
  for (message of [200.25, 300.125]) await project.turn(String(message))
  project.write("a.txt", "three")
  message = 400
  await project.turn("4")
  const listed = await project.checkpoints.list({ signal })
  expect(listed.map(({ precedes }) => precedes)).toEqual([[400], [200.25, 300.125], [100.5]])
  const restored = await project.checkpoints.restore(listed[1]?.hash ?? "", { signal })
  expect(restored).toMatchObject({ ok: true, value: { snapshot: { precedes: [200.25, 300.125] } } })
})

test("a restore gets its own undo snapshot, which precedes no message, unless it changes nothing", async () => {
  await using project = await openProject({ messageTimestamp: () => 100 })
  await project.turn("1")
  project.write("a.txt", "two")
  await project.turn("2")
  const [newest, oldest] = await project.checkpoints.list({ signal })
  await project.checkpoints.restore(newest?.hash ?? "", { signal })
  expect(await reasons(project.checkpoints)).toEqual(["terminal 2", "terminal 1"])
  const restored = await project.checkpoints.restore(oldest?.hash ?? "", { signal })
  expect(await reasons(project.checkpoints)).toEqual(["pre-rollback", "terminal 2", "terminal 1"])
  const undone = await project.checkpoints.restore(restored.ok ? restored.value.undoHash : "", { signal })
  expect(undone).toMatchObject({ ok: true, value: { snapshot: { reason: "pre-rollback", precedes: [] } } })
  expect(project.read("a.txt")).toBe("two")
})

test("where no complete snapshot is possible, one of the files that the calls of a turn name is taken", async () => {
  const opened: { home?: TemporaryHome } = {}
  await using project = await openProject({ workdir: () => opened.home!.userHome, messageTimestamp: () => 100 })
  opened.home = project.home
  const { userHome } = project.home
  const at = (name: string): string => join(userHome, name)
  mkdirSync(at("notes"))
  writeFileSync(at("notes/a.md"), "one")
  writeFileSync(at("other.md"), "untouched")
  project.checkpoints.beginTurn("1")
  const change = (path: string) => project.checkpoints.beforeChange({ paths: [path], reason: `write ${path}`, signal })
  expect(await Promise.all([change("~/notes/a.md"), change("~/notes/new.md")])).toEqual([[], []])
  writeFileSync(at("notes/a.md"), "two")
  writeFileSync(at("notes/new.md"), "new")
  mkdirSync(at("fresh"))
  expect(await change("~/made/b.md")).toEqual([])
  mkdirSync(at("made"))
  writeFileSync(at("made/b.md"), "new")
  expect(await project.checkpoints.beforeChange({ reason: "terminal", signal })).toMatchObject([
    { kind: "unsupported" },
  ])

  const store = createShadowStore({ home: project.home.path, path, ...settings, clock: systemClock })
  const [snapshot, ...more] = await store.list(userHome, { signal })
  expect([snapshot?.files, snapshot?.precedes, more]).toEqual([["made/b.md", "notes/a.md", "notes/new.md"], [100], []])
  const hash = snapshot?.hash ?? ""
  expect(await store.diff(userHome, hash, { signal })).toMatchObject({
    value: { files: ["made/b.md", "notes/a.md", "notes/new.md"] },
  })
  const restored = await store.restore(userHome, hash, { signal })
  expect(restored).toMatchObject({
    value: { written: ["notes/a.md"], removed: ["made/b.md", "made/", "notes/new.md"], notRestored: [] },
  })
  expect([readFileSync(at("notes/a.md"), "utf8"), existsSync(at("notes/new.md")), existsSync(at("made"))]).toEqual([
    "one",
    false,
    false,
  ])
  expect([readFileSync(at("other.md"), "utf8"), existsSync(at("fresh"))]).toEqual(["untouched", true])
  const undone = await store.restore(userHome, restored.ok ? restored.value.undoHash : "", { signal })
  expect(undone).toMatchObject({ ok: true, value: { snapshot: { precedes: [] } } })
  expect([readFileSync(at("notes/a.md"), "utf8"), readFileSync(at("made/b.md"), "utf8")]).toEqual(["two", "new"])
  expect((await store.list(userHome, { signal })).map(({ reason }) => reason)).toContain("pre-rollback")
})

test("a project with more than 50,000 files reports that once and still saves the files that tools name", async () => {
  await using project = await openProject({ patienceMs: 0 })
  mkdirSync(join(project.root, "many"))
  for (let count = 0; count <= 50_000; count += 1) writeFileSync(join(project.root, "many", String(count)), "")
  const problem = { kind: "too-many-files", directory: project.root, reason: expect.any(String) as string }
  const patch = () => project.checkpoints.beforeChange({ paths: ["a.txt"], reason: "patch", signal })
  const undo = async () => {
    const [snapshot] = await project.checkpoints.list({ signal })
    expect((await project.checkpoints.restore(snapshot?.hash ?? "", { signal })).ok).toBe(true)
    expect(project.read("a.txt")).toBe("one")
  }
  // The first call does not wait until the files are counted.
  project.checkpoints.beginTurn("1")
  expect(await patch()).toEqual([])
  project.write("a.txt", "two")
  expect(await project.checkpoints.beforeChange({ reason: "terminal", signal })).toEqual([problem])
  await undo()
  project.checkpoints.beginTurn("2")
  expect(await patch()).toEqual([problem])
  project.write("a.txt", "three")
  await undo()
}, 120_000)

test("disabled checkpoints write nothing", async () => {
  await using project = await openProject({ settings: { ...settings, enabled: false } })
  await project.turn("1")
  expect(existsSync(join(project.home.path, "checkpoints"))).toBe(false)
})

test("after an interrupted snapshot, the next call of the turn takes it", async () => {
  await using project = await openProject()
  project.checkpoints.beginTurn("1")
  await project.checkpoints.beforeChange({ reason: "stopped", signal: AbortSignal.abort() })
  await project.checkpoints.beforeChange({ reason: "again", signal })
  expect(await reasons(project.checkpoints)).toEqual(["again"])
})

test("a second process continues from the first one's store, and both can take snapshots at the same time", async () => {
  await using project = await openProject()
  for (let index = 0; index < 600; index += 1) project.write(`many/f${index}`, String(index))
  await project.turn("1")
  await project.checkpoints.close(signal)
  const another = createShadowStore({
    home: project.home.path,
    path,
    ...settings,
    clock: { now: () => Date.now(), sleep: () => Promise.resolve() },
  })
  project.write("many/f7", "changed")
  const taken = await Promise.all([
    another.snapshot(project.root, { reason: "other process" }, signal),
    project.turn("2").then(() => undefined),
  ])
  expect(taken[0].hash).toMatch(/^[0-9a-f]{40}$/u)
  expect((await reasons(project.checkpoints)).length).toBe(2)
  project.write("many/f7", "again")
  expect((await another.restore(project.root, await head(project), { signal })).ok).toBe(true)
  expect(project.read("many/f7")).toBe("changed")
})

test("the store keeps at most maxSnapshots, and pruning does not change their hashes", async () => {
  await using project = await openProject({ settings: { ...settings, maxSnapshots: 3 } })
  for (const id of ["1", "2", "3", "4", "5"]) {
    project.write("a.txt", id)
    await project.turn(id)
  }
  const listed = await project.checkpoints.list({ signal })
  expect(listed.map(({ reason }) => reason)).toEqual(["terminal 5", "terminal 4", "terminal 3"])
  const store = storePaths(project.home.path, path)
  await pruneStore(store, {
    ...settings,
    clock: { now: () => project.clock.seconds * 1000, sleep: () => Promise.resolve() },
    signal,
  })
  expect(await project.checkpoints.list({ signal })).toEqual(listed)
  await project.turn("6")
  expect((await project.checkpoints.restore(listed[2]!.hash, { signal })).ok).toBe(true)
  expect(project.read("a.txt")).toBe("3")
})

test("pruning removes old snapshots and those of deleted directories, and later snapshots store their objects again", async () => {
  await using project = await openProject()
  await using gone = await openProject({ home: project.home.path })
  await project.turn("1")
  await gone.turn("1")
  project.write("a.txt", "two")
  project.clock.seconds += 8 * 86_400
  await project.turn("2")
  rmSync(gone.root, { recursive: true })
  const store = storePaths(project.home.path, path)
  const clock = { now: () => project.clock.seconds * 1000, sleep: () => Promise.resolve() }
  expect(await pruneStore(store, { ...settings, clock, signal })).toMatchObject({ snapshots: 2, projects: 1 })
  expect(await reasons(project.checkpoints)).toEqual(["terminal 2"])
  // This content was pruned from the store, so the snapshot must store it again.
  project.write("a.txt", "one")
  await project.turn("3")
  project.write("a.txt", "later")
  expect((await project.checkpoints.restore(await head(project), { signal })).ok).toBe(true)
  expect(project.read("a.txt")).toBe("one")
  project.clock.seconds += 30 * 86_400
  expect(await pruneStore(store, { ...settings, clock, signal })).toMatchObject({ projects: 1 })
  expect((await storeUsage(store, signal)).projects).toEqual([])
})

test("pruning keeps the scan cache if it removed nothing", async () => {
  await using project = await openProject()
  project.write("a.txt", "two")
  await project.turn("1")
  const store = storePaths(project.home.path, path)
  const options = { ...settings, clock: { now: () => project.clock.seconds * 1000, sleep: () => Promise.resolve() } }
  const epoch = readEpoch(store)
  await pruneStore(store, { ...options, signal })
  await pruneStore(store, { ...options, signal })
  expect(readEpoch(store)).toBe(epoch)
  project.write("a.txt", "three")
  await project.turn("2")
  await pruneStore(store, { ...options, maxSnapshots: 1, signal })
  expect(readEpoch(store)).not.toBe(epoch)
})

test("pruning shrinks the store to its limit but keeps the newest snapshot", async () => {
  await using project = await openProject()
  for (const id of ["1", "2", "3"]) {
    project.write("random", Array.from({ length: 20_000 }, () => Math.random().toString(36)).join(""))
    await project.turn(id)
  }
  const store = storePaths(project.home.path, path)
  const clock = { now: () => project.clock.seconds * 1000, sleep: () => Promise.resolve() }
  expect(await pruneStore(store, { ...settings, maxTotalMb: 0.3, clock, signal })).toMatchObject({ snapshots: 2 })
  expect(await reasons(project.checkpoints)).toEqual(["terminal 3"])
})

test("the store grows with the size of the changes, not of the workspace", async () => {
  await using project = await openProject()
  for (let index = 0; index < 300; index += 1) project.write(`f${index}`, `${index} ${"text ".repeat(2000)}`)
  await project.turn("1")
  const store = storePaths(project.home.path, path)
  const objects = join(store.gitDir, "objects")
  const before = directoryBytes(objects)
  project.write("f1", "x".repeat(1000))
  await project.turn("2")
  expect(directoryBytes(objects) - before).toBeLessThan(20_000)
})

test("undo stays with the initial project when the shell changes directory", async () => {
  await using other = await temporaryHome({ workFiles: { "go.mod": "module x", "b.txt": "b" } })
  let workdir = ""
  await using project = await openProject({ workdir: () => workdir })
  workdir = project.root
  await project.turn("one")
  workdir = "/usr"
  await project.turn("two")
  expect([project.checkpoints.root(), project.checkpoints.otherRoots()]).toEqual([project.root, []])
  expect(await project.checkpoints.list({ signal })).toHaveLength(1)
  workdir = other.workdir
  await project.turn("three")
  expect([project.checkpoints.root(), project.checkpoints.otherRoots()]).toEqual([project.root, [other.workdir]])
})

test("a session that began in an unsupported directory can undo in the project that it changed last", async () => {
  let workdir = ""
  await using project = await openProject({ initialDirectory: "/", workdir: () => workdir })
  workdir = project.root
  await project.turn("one")
  workdir = "/usr"
  expect([project.checkpoints.root(), project.checkpoints.otherRoots()]).toEqual([project.root, []])
})

test("a call that names its file does not wait for the scan, and the snapshot still has the state before it", async () => {
  await using project = await openProject({ patienceMs: 0 })
  const link = join(project.root, "link")
  project.write("target", "one")
  symlinkSync("target", link)
  for (let count = 0; count < 500; count += 1) project.write(`many/${count}`, String(count))
  project.checkpoints.beginTurn("1")
  const changes: readonly (readonly [string, () => void])[] = [
    ["a.txt", () => project.write("a.txt", "two")],
    ["new/deep/b.txt", () => project.write("new/deep/b.txt", "new")],
    ["link", () => rmSync(link)],
  ]
  for (const [name, change] of changes) {
    const reason = `write_file ${name}`
    expect(await project.checkpoints.beforeChange({ paths: [name], reason, signal })).toEqual([])
    change()
  }
  await project.checkpoints.beforeChange({ reason: "terminal", signal })
  const listed = await project.checkpoints.list({ signal })
  expect(listed.map(({ reason, files }) => [reason, files])).toEqual([["write_file a.txt", undefined]])
  expect(await project.checkpoints.restore(listed[0]?.hash ?? "", { signal })).toMatchObject({
    value: { written: ["a.txt", "link"], removed: ["new/deep/b.txt", "new/deep/", "new/"], notRestored: [] },
  })
  expect([project.read("a.txt"), existsSync(join(project.root, "new")), lstatSync(link).isSymbolicLink()]).toEqual([
    "one",
    false,
    true,
  ])
})

test("a session that ends during the scan keeps the snapshot of the files it changed", async () => {
  await using project = await openProject({ patienceMs: 0 })
  project.checkpoints.beginTurn("1")
  await project.checkpoints.beforeChange({ paths: ["a.txt"], reason: "write_file a.txt", signal })
  project.write("a.txt", "two")
  await project.checkpoints.close(signal)
  const store = createShadowStore({ home: project.home.path, path, ...settings, clock: systemClock })
  const [snapshot] = await store.list(project.root, { signal })
  expect((await store.restore(project.root, snapshot?.hash ?? "", { signal })).ok).toBe(true)
  expect(project.read("a.txt")).toBe("one")
})

test("a process that was killed while creating the store or a pack leaves nothing that later snapshots trip over", async () => {
  await using project = await openProject()
  const directory = join(project.home.path, "checkpoints")
  mkdirSync(join(directory, "store.0123456789ab.new"), { recursive: true })
  mkdirSync(join(directory, "store"))
  writeFileSync(join(directory, "store", "config.lock"), "")
  expect(await project.turn("1")).toEqual([])
  const pack = join(directory, "store", "objects", "pack", "tmp_pack_abcdef")
  writeFileSync(pack, "unfinished")
  project.write("a.txt", "two")
  expect(await project.turn("2")).toEqual([])
  expect([existsSync(pack), existsSync(join(directory, "store.0123456789ab.new"))]).toEqual([false, false])
  expect(await reasons(project.checkpoints)).toEqual(["terminal 2", "terminal 1"])
})

test("a large project is scanned in advance without a snapshot, a small one not at all", async () => {
  await using small = await openProject()
  await small.checkpoints.prepare()
  expect(existsSync(join(small.home.path, "checkpoints"))).toBe(false)
  await using project = await openProject()
  for (let count = 0; count <= 4000; count += 1) project.write(`many/${count % 40}/${count}`, String(count))
  await project.checkpoints.prepare()
  expect(existsSync(join(project.home.path, "checkpoints", "store"))).toBe(true)
  expect(await project.checkpoints.list({ signal })).toEqual([])
  // A change between the scan and the call is part of the state before the call.
  project.write("many/1/1", "by the user")
  await project.turn("1")
  project.write("many/1/1", "by the command")
  expect((await project.checkpoints.restore(await head(project), { signal })).ok).toBe(true)
  expect(project.read("many/1/1")).toBe("by the user")
}, 30_000)

test("pruning that does not finish in time is tried again an hour later, not at the end of each session", async () => {
  await using project = await openProject()
  await project.turn("1")
  const store = storePaths(project.home.path, path)
  const clock = { now: () => project.clock.seconds * 1000, sleep: () => Promise.resolve() }
  const prune = (stop: AbortSignal) => pruneStoreIfDue(store, { ...settings, clock, signal: stop })
  await expect(prune(AbortSignal.abort(new Error("no time left")))).rejects.toThrow("no time left")
  project.clock.seconds += 3000
  expect(await prune(signal)).toBeUndefined()
  project.clock.seconds += 601
  expect(await prune(signal)).toMatchObject({ snapshots: 0 })
})
