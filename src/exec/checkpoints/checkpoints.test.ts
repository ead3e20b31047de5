import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../../test/support/temporary-home.ts"
import { createLogger } from "../../base/logger.ts"
import { createCheckpoints } from "./checkpoints.ts"
import type { Checkpoints, CheckpointsOptions } from "./checkpoints.ts"
import { directoryBytes, pruneStore, storeSizes } from "./prune-store.ts"
import { createShadowStore } from "./shadow-store.ts"
import { storePlace } from "./store-files.ts"

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

interface Place extends AsyncDisposable {
  readonly home: TemporaryHome
  readonly root: string
  readonly checkpoints: Checkpoints
  readonly lines: string[]
  readonly clock: { seconds: number }
  readonly write: (name: string, text: string) => void
  readonly read: (name: string) => string
  /** Begins a turn that may change anything. */
  readonly turn: (id: string) => Promise<void>
}

async function opened(more: Partial<CheckpointsOptions> = {}): Promise<Place> {
  const home = await temporaryHome({ workFiles: { "package.json": "{}", "a.txt": "one" } })
  const root = home.workdir
  const lines: string[] = []
  const clock = { seconds: 1_800_000_000 }
  const checkpoints = createCheckpoints({
    home: home.path,
    userHome: home.userHome,
    startedIn: root,
    workdir: () => root,
    sessionId: () => "20260101_000000_abcdef",
    path,
    settings,
    clock: { now: () => clock.seconds * 1000, sleep: () => Promise.resolve() },
    log: createLogger({ sinks: [{ level: "INFO", write: (line) => lines.push(line) }], redact: (text) => text }),
    ...more,
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
      await checkpoints.beforeChange({ reason: `terminal ${id}`, signal })
    },
    async [Symbol.asyncDispose]() {
      checkpoints.close()
      await home[Symbol.asyncDispose]()
    },
  }
}

async function reasons(checkpoints: Checkpoints): Promise<readonly string[]> {
  return (await checkpoints.list({ signal })).map(({ reason }) => reason)
}

test("one snapshot in a turn though three files change, none where nothing had changed", async () => {
  await using place = await opened()
  place.checkpoints.beginTurn("first")
  for (const name of ["a.txt", "b.txt", "deep/c.txt"]) {
    await place.checkpoints.beforeChange({ paths: [name], reason: `write_file ${name}`, signal })
    place.write(name, "two")
  }
  await place.turn("second")
  await place.turn("third")
  expect(await place.checkpoints.list({ signal })).toEqual([
    {
      hash: expect.stringMatching(/^[0-9a-f]{40}$/u) as string,
      short: expect.stringMatching(/^[0-9a-f]{8}$/u) as string,
      time: 1_800_000_000,
      reason: "terminal second",
      turn: "second",
      session: "20260101_000000_abcdef",
      filesChanged: 3,
      insertions: 3,
      deletions: 1,
    },
    expect.objectContaining({ reason: "write_file a.txt", turn: "first", filesChanged: 0 }),
  ])
})

test("a deleted file comes back, a new one goes, and restoring what was before undoes it", async () => {
  await using place = await opened()
  place.write("gone.txt", "keep me")
  await place.turn("1")
  rmSync(join(place.root, "gone.txt"))
  place.write("new/file.txt", "new")
  const [snapshot] = await place.checkpoints.list({ signal })
  const restored = await place.checkpoints.restore(snapshot!.hash, { signal })
  expect(restored).toEqual({
    ok: true,
    value: {
      written: ["gone.txt"],
      removed: ["new/file.txt", "new/"],
      kept: [],
      before: expect.any(String) as string,
    },
  })
  expect([place.read("gone.txt"), existsSync(join(place.root, "new"))]).toEqual(["keep me", false])
  expect(await reasons(place.checkpoints)).toEqual(["pre-rollback", "terminal 1"])
  const before = restored.ok ? restored.value.before : ""
  expect((await place.checkpoints.restore(before.slice(0, 10), { signal })).ok).toBe(true)
  expect([place.read("new/file.txt"), existsSync(join(place.root, "gone.txt"))]).toEqual(["new", false])
})

test("one file alone is shown and brought back, through directories that became something else", async () => {
  await using place = await opened()
  place.write("dir/one", "1")
  place.write("dir/two", "2")
  await place.turn("1")
  rmSync(join(place.root, "dir"), { recursive: true })
  symlinkSync(place.home.userHome, join(place.root, "dir"))
  place.write("a.txt", "changed")
  const hash = (await place.checkpoints.list({ signal }))[0]!.hash
  expect(await place.checkpoints.diff(hash, { file: "a.txt", signal })).toMatchObject({
    ok: true,
    value: { files: ["a.txt"], truncated: false, text: expect.stringContaining("-one\n") as string },
  })
  const done = await place.checkpoints.restore(hash, { file: "./dir/one", signal })
  expect(done).toMatchObject({ ok: true, value: { written: ["dir/", "dir/one"], removed: [], kept: [] } })
  expect([place.read("dir/one"), existsSync(join(place.root, "dir/two")), place.read("a.txt")]).toEqual([
    "1",
    false,
    "changed",
  ])
  expect(existsSync(join(place.home.userHome, "one"))).toBe(false)
})

test("secrets, build output and version control are never in the store", async () => {
  await using place = await opened()
  for (const name of [".env", ".env.local", "node_modules/x/index.js", "sub/dist/out.js", "app.log", "x.zip"]) {
    place.write(name, `planted-${name}`)
  }
  place.write("build", "a file of that name is covered")
  execFileSync("git", ["init", "-q", join(place.root, "nested")])
  place.write("nested/code", "covered")
  await place.turn("1")
  const store = storePlace(place.home.path, path).gitDir
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
  const tree = execFileSync("git", ["--git-dir", store, "ls-tree", "-r", "--name-only", "-z", await head(place)])
  expect(tree.toString().split("\0").filter(Boolean)).toEqual(["a.txt", "build", "nested/code", "package.json"])
  expect(names.toString()).not.toContain(".env")
  expect(
    execFileSync("git", ["--git-dir", store, "fsck", "--strict"], { stdio: ["ignore", "pipe", "pipe"] }).toString(),
  ).toBe("")
})

async function head(place: Place): Promise<string> {
  return (await place.checkpoints.list({ limit: 1, signal }))[0]!.hash
}

test("what could not be saved is not overwritten, and what was left out is not removed", async () => {
  await using place = await opened({ settings: { ...settings, maxFileMb: 0.001 } })
  place.write("grows", "small")
  place.write("large", "x".repeat(50_000))
  await place.turn("1")
  place.write("grows", "y".repeat(50_000))
  place.write("large", "small now")
  place.write("also", "z".repeat(50_000))
  const done = await place.checkpoints.restore(await head(place), { signal })
  // A file that the snapshot knows is saved before the restore however large it is.
  expect(done).toMatchObject({ ok: true, value: { written: ["grows"], removed: [], kept: [] } })
  expect([place.read("grows"), place.read("large"), place.read("also").length]).toEqual(["small", "small now", 50_000])
  expect((await place.checkpoints.restore(done.ok ? done.value.before : "", { signal })).ok).toBe(true)
  expect(place.read("grows").length).toBe(50_000)
})

test("a directory with files that no checkpoint covers stays, and is told", async () => {
  await using place = await opened()
  place.write("thing", "a file")
  await place.turn("1")
  rmSync(join(place.root, "thing"))
  place.write("thing/node_modules/x", "installed")
  place.write("thing/y", "new")
  const done = await place.checkpoints.restore(await head(place), { signal })
  expect(done).toMatchObject({
    ok: true,
    value: { removed: ["thing/y"], kept: [{ path: "thing", why: "it holds files that no checkpoint covers" }] },
  })
  expect(place.read("thing/node_modules/x")).toBe("installed")
})

test("read-only directories are opened for the restore and closed again", async () => {
  await using place = await opened()
  place.write("locked/x", "1")
  chmodSync(join(place.root, "locked"), 0o555)
  await place.turn("1")
  chmodSync(join(place.root, "locked"), 0o755)
  place.write("locked/x", "2")
  chmodSync(join(place.root, "locked"), 0o500)
  expect((await place.checkpoints.restore(await head(place), { signal })).ok).toBe(true)
  expect([place.read("locked/x"), lstatSync(join(place.root, "locked")).mode & 0o777]).toEqual(["1", 0o555])
})

test("a checkpoint of another project is not known here", async () => {
  await using place = await opened()
  await using other = await opened()
  await place.turn("1")
  await other.turn("1")
  const hash = await head(place)
  expect(await other.checkpoints.restore(hash, { signal })).toEqual({
    ok: false,
    error: `there is no checkpoint ${hash} of ${other.root}; list them first`,
  })
})

test("a file outside the project gets a snapshot of the project it is in", async () => {
  await using place = await opened()
  const other = join(place.home.userHome, "other")
  mkdirSync(join(other, "src"), { recursive: true })
  writeFileSync(join(other, "go.mod"), "")
  writeFileSync(join(other, "src", "x.go"), "1")
  place.checkpoints.beginTurn("1")
  await place.checkpoints.beforeChange({ paths: ["~/other/src/x.go", "src/new/y.ts"], reason: "patch", signal })
  const sizes = await storeSizes(storePlace(place.home.path, path), signal)
  expect(sizes.projects.map(({ workdir, snapshots }) => [workdir, snapshots])).toEqual(
    expect.arrayContaining([
      [other, 1],
      [place.root, 1],
    ]),
  )
})

test.each([
  ["the home directory", (home: TemporaryHome) => home.userHome, "work in a folder of it"],
  ["the root", () => "/", "the root of the file system is too much"],
  ["our own home", (home: TemporaryHome) => home.path, "Hermes' own files get no checkpoints"],
])("%s gets no checkpoint, and the call goes on", async (_name, workdir, why) => {
  const where = { place: undefined as TemporaryHome | undefined }
  await using place = await opened({ workdir: () => workdir(where.place!) })
  where.place = place.home
  await place.turn("1")
  await place.turn("2")
  expect(place.lines).toEqual([expect.stringContaining(why)])
})

test("without git the call goes on, with one warning", async () => {
  await using place = await opened({ path: "/nonexistent" })
  await place.turn("1")
  await place.turn("2")
  expect(place.lines).toEqual([expect.stringContaining("git cannot be started; install it to use checkpoints")])
})

test("switched off it does nothing", async () => {
  await using place = await opened({ settings: { ...settings, enabled: false } })
  await place.turn("1")
  expect(existsSync(join(place.home.path, "checkpoints"))).toBe(false)
})

test("an interrupt ends the snapshot; a later call of the turn takes it", async () => {
  await using place = await opened()
  place.checkpoints.beginTurn("1")
  await place.checkpoints.beforeChange({ reason: "stopped", signal: AbortSignal.abort() })
  await place.checkpoints.beforeChange({ reason: "again", signal })
  expect(await reasons(place.checkpoints)).toEqual(["again"])
})

test("a new process takes up where the last one was, and two do not disturb each other", async () => {
  await using place = await opened()
  for (let index = 0; index < 600; index += 1) place.write(`many/f${index}`, String(index))
  await place.turn("1")
  place.checkpoints.close()
  const another = createShadowStore({
    home: place.home.path,
    path,
    ...settings,
    clock: { now: () => Date.now(), sleep: () => Promise.resolve() },
  })
  place.write("many/f7", "changed")
  const taken = await Promise.all([
    another.snapshot(place.root, { reason: "other process" }, signal),
    place.turn("2").then(() => undefined),
  ])
  expect(taken[0].hash).toMatch(/^[0-9a-f]{40}$/u)
  expect((await reasons(place.checkpoints)).length).toBe(2)
  place.write("many/f7", "again")
  expect((await another.restore(place.root, await head(place), { signal })).ok).toBe(true)
  expect(place.read("many/f7")).toBe("changed")
})

test("only so many snapshots are kept, and their names do not change", async () => {
  await using place = await opened({ settings: { ...settings, maxSnapshots: 3 } })
  for (const id of ["1", "2", "3", "4", "5"]) {
    place.write("a.txt", id)
    await place.turn(id)
  }
  const listed = await place.checkpoints.list({ signal })
  expect(listed.map(({ reason }) => reason)).toEqual(["terminal 5", "terminal 4", "terminal 3"])
  const store = storePlace(place.home.path, path)
  await pruneStore(store, {
    ...settings,
    clock: { now: () => place.clock.seconds * 1000, sleep: () => Promise.resolve() },
    signal,
  })
  expect(await place.checkpoints.list({ signal })).toEqual(listed)
  await place.turn("6")
  expect((await place.checkpoints.restore(listed[2]!.hash, { signal })).ok).toBe(true)
  expect(place.read("a.txt")).toBe("3")
})

test("a clean-up removes what is old, too much or without a directory; another process notices", async () => {
  await using place = await opened()
  await using gone = await opened({ home: place.home.path })
  await place.turn("1")
  await gone.turn("1")
  place.write("a.txt", "two")
  place.clock.seconds += 8 * 86_400
  await place.turn("2")
  rmSync(gone.root, { recursive: true })
  const store = storePlace(place.home.path, path)
  const clock = { now: () => place.clock.seconds * 1000, sleep: () => Promise.resolve() }
  expect(await pruneStore(store, { ...settings, clock, signal })).toMatchObject({ snapshots: 2, projects: 1 })
  expect(await reasons(place.checkpoints)).toEqual(["terminal 2"])
  // What the clean-up took out of the store is stored again when it is needed.
  place.write("a.txt", "one")
  await place.turn("3")
  place.write("a.txt", "later")
  expect((await place.checkpoints.restore(await head(place), { signal })).ok).toBe(true)
  expect(place.read("a.txt")).toBe("one")
  place.clock.seconds += 30 * 86_400
  expect(await pruneStore(store, { ...settings, clock, signal })).toMatchObject({ projects: 1 })
  expect((await storeSizes(store, signal)).projects).toEqual([])
})

test("the store shrinks to its limit, the newest snapshot stays", async () => {
  await using place = await opened()
  for (const id of ["1", "2", "3"]) {
    place.write("random", Array.from({ length: 20_000 }, () => Math.random().toString(36)).join(""))
    await place.turn(id)
  }
  const store = storePlace(place.home.path, path)
  const clock = { now: () => place.clock.seconds * 1000, sleep: () => Promise.resolve() }
  expect(await pruneStore(store, { ...settings, maxTotalMb: 0.3, clock, signal })).toMatchObject({ snapshots: 2 })
  expect(await reasons(place.checkpoints)).toEqual(["terminal 3"])
})

test("the store grows with what changed, not with what is there", async () => {
  await using place = await opened()
  for (let index = 0; index < 300; index += 1) place.write(`f${index}`, `${index} ${"text ".repeat(2000)}`)
  await place.turn("1")
  const store = storePlace(place.home.path, path)
  const objects = join(store.gitDir, "objects")
  const before = directoryBytes(objects)
  place.write("f1", "x".repeat(1000))
  await place.turn("2")
  expect(directoryBytes(objects) - before).toBeLessThan(20_000)
})

test("a shell that went elsewhere leaves the way back where the session began", async () => {
  await using other = await temporaryHome({ workFiles: { "go.mod": "module x", "b.txt": "b" } })
  let workdir = ""
  await using place = await opened({ workdir: () => workdir })
  workdir = place.root
  await place.turn("one")
  workdir = "/usr"
  await place.turn("two")
  expect([place.checkpoints.root(), place.checkpoints.others()]).toEqual([place.root, []])
  expect(await place.checkpoints.list({ signal })).toHaveLength(1)
  workdir = other.workdir
  await place.turn("three")
  expect([place.checkpoints.root(), place.checkpoints.others()]).toEqual([place.root, [other.workdir]])
})

test("a session that began where no snapshot can be has its way back where it last changed something", async () => {
  let workdir = ""
  await using place = await opened({ startedIn: "/", workdir: () => workdir })
  workdir = place.root
  await place.turn("one")
  workdir = "/usr"
  expect([place.checkpoints.root(), place.checkpoints.others()]).toEqual([place.root, []])
})
