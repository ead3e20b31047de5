import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { pack } from "tar-stream"
import { expect, test } from "vitest"

import type { Clock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { HERMES_SECRETS } from "../../config/protected-places.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../../test/support/temporary-home.ts"
import { createFileSync } from "./file-sync.ts"
import type { FileSync } from "./file-sync.ts"
import { unpackReturning } from "./sync-archive.ts"

interface Rig {
  readonly sync: FileSync
  /** The base in the other place, which is a directory of this machine. */
  readonly base: string
  /** How many scripts were run over there. */
  calls(): number
  /** Makes some of the next calls fail. */
  breakLink(times: number, how?: { readonly after: number }): void
  readonly waits: readonly number[]
  readonly lines: readonly string[]
  pass(ms: number): void
}

const SHELLS = [["sh"], ["busybox", "sh"]].filter(
  ([program = ""]) => spawnSync(program, ["--help"]).error === undefined,
)

function rigFor(
  home: TemporaryHome,
  changes: {
    readonly files?: readonly string[]
    readonly base?: string
    readonly maxInputBytes?: number
    readonly shell?: readonly string[]
  } = {},
): Rig {
  const base = changes.base ?? join(home.workdir, "there/.hermes")
  const [program = "sh", ...words] = changes.shell ?? ["sh"]
  const waits: number[] = []
  const lines: string[] = []
  let now = 1_000_000
  let calls = 0
  let broken = { after: 0, times: 0 }
  const clock: Clock = {
    now: () => now,
    sleep: (ms) => {
      waits.push(ms)
      return Promise.resolve()
    },
  }
  const sync = createFileSync({
    places: {
      home: home.path,
      directories: ["skills"],
      caches: ["cache/images"],
      files: changes.files ?? [],
      except: HERMES_SECRETS,
    },
    base,
    placeName: "test place",
    maxInputBytes: changes.maxInputBytes ?? Number.POSITIVE_INFINITY,
    clock,
    log: createLogger({ redact: (text) => text, sinks: [{ level: "DEBUG", write: (line) => lines.push(line) }] }),
    ask: (script, args, { stdin }) => {
      calls += 1
      if (calls > broken.after && calls <= broken.after + broken.times) {
        return Promise.reject(new Error("the link is down"))
      }
      expect(locks(home)).toHaveLength(1)
      const answer = spawnSync(program, [...words, "-c", script, "hermes", ...args], {
        input: stdin ?? new Uint8Array(),
        maxBuffer: 64 * 1024 * 1024,
      })
      return answer.status === 0 ? Promise.resolve(answer.stdout) : Promise.reject(new Error(answer.stderr.toString()))
    },
  })
  return {
    sync,
    base,
    waits,
    lines,
    calls: () => calls,
    breakLink: (times, { after } = { after: 0 }) => {
      broken = { after: calls + after, times }
    },
    pass: (ms) => {
      now += ms
    },
  }
}

function locks(home: TemporaryHome): readonly string[] {
  return readdirSync(join(home.path, "cache/remote-sync")).filter((name) => name.endsWith(".lock"))
}

function put(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** All files below a folder with their content, but not those that only the sync itself uses. */
function filesIn(folder: string, at = ""): Record<string, string> {
  if (!existsSync(join(folder, at))) return {}
  return Object.assign(
    {},
    ...readdirSync(join(folder, at), { withFileTypes: true }).map((entry) => {
      const path = at === "" ? entry.name : `${at}/${entry.name}`
      if (path === ".sync" || path === "cache/remote-sync") return {}
      return entry.isDirectory() ? filesIn(folder, path) : { [path]: readFileSync(join(folder, path), "utf8") }
    }),
  )
}

const LONG = `skills/${"long-name-".repeat(9)}/${"ünïcödé".repeat(9)}.md`

test.each(SHELLS.map((shell) => ({ shell })))(
  "what is in the places goes over, and nothing else ($shell)",
  async ({ shell }) => {
    await using home = await temporaryHome({
      files: {
        "skills/greet/SKILL.md": "hello",
        "skills/greet/run.sh": "#!/bin/sh",
        [LONG]: "long",
        "skills/ with spaces ' $(x)": "odd",
        "skills/empty": "",
        "skills/.hub/stranger.md": "secret",
        "cache/images/a.png": "png",
        "cache/other/b": "no",
        "auth.json": "secret",
        ".env": "secret",
        "tokens/google.json": "token",
      },
    })
    chmodSync(join(home.path, "skills/greet/run.sh"), 0o755)
    symlinkSync("/etc/passwd", join(home.path, "skills/link"))
    const rig = rigFor(home, { files: ["tokens/google.json"], shell })
    await rig.sync.push()
    expect(filesIn(rig.base)).toEqual({
      "skills/greet/SKILL.md": "hello",
      "skills/greet/run.sh": "#!/bin/sh",
      [LONG]: "long",
      "skills/ with spaces ' $(x)": "odd",
      "skills/empty": "",
      "cache/images/a.png": "png",
      "tokens/google.json": "token",
    })
    expect(statSync(join(rig.base, "skills/greet/run.sh")).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(rig.base, ".sync"))).toHaveLength(1)
    expect([rig.calls(), rig.sync.takeNote(), locks(home)]).toEqual([2, undefined, []])
  },
)

test("only what changed goes over, at most every five seconds, and what vanished is removed", async () => {
  await using home = await temporaryHome({ files: { "skills/a/one": "1", "skills/a/two": "2", "skills/b": "b" } })
  const rig = rigFor(home)
  await rig.sync.push()
  put(home.path, "skills/b", "changed")
  writeFileSync(join(rig.base, "skills/a/two"), "of that place")
  await rig.sync.push()
  expect([rig.calls(), filesIn(rig.base)["skills/b"]]).toEqual([2, "b"])
  rig.pass(5000)
  await Promise.all([rig.sync.push(), rig.sync.push()])
  expect([rig.calls(), filesIn(rig.base)]).toEqual([
    3,
    { "skills/a/one": "1", "skills/a/two": "of that place", "skills/b": "changed" },
  ])
  rig.pass(5000)
  await rig.sync.push()
  expect(rig.calls()).toBe(3)
  rmSync(join(home.path, "skills/a"), { recursive: true })
  rig.pass(5000)
  await rig.sync.push()
  expect([filesIn(rig.base), existsSync(join(rig.base, "skills/a"))]).toEqual([{ "skills/b": "changed" }, false])
})

test("a later session sends only what has changed since, and takes away what is registered no more", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1", "token.json": "t" } })
  await rigFor(home, { files: ["token.json"] }).sync.push()
  const later = rigFor(home)
  await later.sync.push()
  expect([later.calls(), filesIn(later.base)]).toEqual([2, { "skills/a": "1" }])
  const again = rigFor(home)
  await again.sync.push()
  expect(again.calls()).toBe(1)
  rmSync(join(again.base, "skills"), { recursive: true })
  await rigFor(home).sync.push()
  expect(filesIn(again.base)).toEqual({ "skills/a": "1" })
})

test("a failure is told once, changes nothing over there, and is made up for later", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const rig = rigFor(home)
  await rig.sync.push()
  put(home.path, "skills/a", "22")
  rig.breakLink(2)
  for (let round = 0; round < 2; round += 1) {
    rig.pass(5000)
    await rig.sync.push()
  }
  expect(filesIn(rig.base)).toEqual({ "skills/a": "1" })
  expect([rig.sync.takeNote(), rig.sync.takeNote()]).toEqual([
    `Skills and attachments of this home could not be copied to ${rig.base} there; the log says why.`,
    undefined,
  ])
  expect(rig.lines.filter((line) => line.includes("the link is down"))).toHaveLength(1)
  rig.pass(5000)
  await rig.sync.push()
  expect(filesIn(rig.base)).toEqual({ "skills/a": "22" })
})

test("what is longer than one call is sent in parts, and one that is lost in the middle replaces nothing", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1", "skills/b": "x".repeat(5000) } })
  const rig = rigFor(home, { maxInputBytes: 2048 })
  await rig.sync.push()
  const parts = rig.calls() - 1
  expect(parts).toBeGreaterThan(2)
  put(home.path, "skills/a", "22")
  put(home.path, "skills/b", "y".repeat(5001))
  rig.pass(5000)
  rig.breakLink(1, { after: parts - 1 })
  await rig.sync.push()
  expect(filesIn(rig.base)).toEqual({ "skills/a": "1", "skills/b": "x".repeat(5000) })
  rig.pass(5000)
  await rig.sync.push()
  expect(filesIn(rig.base)).toEqual({ "skills/a": "22", "skills/b": "y".repeat(5001) })
})

test("the very same home is left alone", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const rig = rigFor(home, { base: home.path })
  await rig.sync.push()
  rig.pass(5000)
  await rig.sync.push()
  await rig.sync.pull()
  expect([rig.calls(), existsSync(join(home.path, ".sync")), filesIn(home.path)]).toEqual([
    1,
    false,
    { "skills/a": "1" },
  ])
})

test("where another Hermes lives, its files stay its own", async () => {
  await using home = await temporaryHome({ files: { "skills/both": "ours", "skills/ours": "1" } })
  const rig = rigFor(home)
  put(rig.base, "config.yaml", "theirs")
  put(rig.base, "skills/both", "theirs")
  await rig.sync.push()
  put(rig.base, "cache/images/theirs.png", "made by them")
  put(rig.base, "skills/ours", "changed over there")
  await rig.sync.pull()
  expect(filesIn(rig.base)).toMatchObject({ "skills/both": "theirs", "config.yaml": "theirs" })
  expect(filesIn(home.path)).toEqual({ "skills/both": "ours", "skills/ours": "changed over there" })
})

test.each(SHELLS.map((shell) => ({ shell })))(
  "changed files come back, new ones only into the caches ($shell)",
  async ({ shell }) => {
    await using home = await temporaryHome({
      files: {
        "skills/a": "1",
        "skills/gone-here": "1",
        "skills/newer-here": "1",
        "token.json": "t",
        "cache/images/old": "1",
      },
    })
    const rig = rigFor(home, { files: ["token.json"], shell })
    put(rig.base, "cache/images/theirs-before", "1")
    await rig.sync.push()
    for (const path of ["skills/a", "skills/gone-here", "skills/newer-here", "token.json", "cache/images/old"]) {
      put(rig.base, path, `${path} changed there`)
    }
    put(rig.base, "cache/images/new/shot.png", "new")
    put(rig.base, "cache/images/line\nbreak", "odd")
    put(rig.base, "skills/planted/SKILL.md", "evil")
    put(rig.base, "skills/.hub/x", "evil")
    put(rig.base, "auth.json", "evil")
    symlinkSync("/etc/passwd", join(rig.base, "cache/images/link"))
    rmSync(join(home.path, "skills/gone-here"))
    put(home.path, "skills/newer-here", "changed here")
    await rig.sync.pull()
    expect(filesIn(home.path)).toEqual({
      "skills/a": "skills/a changed there",
      "skills/newer-here": "changed here",
      "token.json": "token.json changed there",
      "cache/images/old": "cache/images/old changed there",
      "cache/images/new/shot.png": "new",
    })
    expect([locks(home), readdirSync(join(rig.base, ".sync")).length, rig.waits]).toEqual([[], 1, []])
  },
)

test("a link of this machine does not lead a file out of the home", async () => {
  await using home = await temporaryHome({ files: { "cache/images/x": "1" } })
  const rig = rigFor(home)
  await rig.sync.push()
  mkdirSync(join(home.workdir, "outside"))
  symlinkSync(join(home.workdir, "outside"), join(home.path, "cache/images/out"))
  put(rig.base, "cache/images/out/file", "evil")
  await rig.sync.pull()
  expect([filesIn(join(home.workdir, "outside")), rig.lines.some((line) => line.includes("leads it out of"))]).toEqual([
    {},
    true,
  ])
})

test("a large file comes in parts", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const rig = rigFor(home)
  await rig.sync.push()
  const large = Buffer.alloc(20 * 1024 * 1024, "0123456789abcdef")
  mkdirSync(join(rig.base, "cache/images"), { recursive: true })
  writeFileSync(join(rig.base, "cache/images/large"), large)
  const before = rig.calls()
  await rig.sync.pull()
  expect([rig.calls() - before, readFileSync(join(home.path, "cache/images/large")).equals(large)]).toEqual([4, true])
})

test("fetching is tried again after 2, 4 and 8 seconds, then given up with a word in the log", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const rig = rigFor(home)
  await rig.sync.push()
  put(rig.base, "skills/a", "changed")
  rig.breakLink(3)
  await rig.sync.pull()
  expect([rig.waits, filesIn(home.path)]).toEqual([[2000, 4000, 8000], { "skills/a": "changed" }])
  rig.breakLink(4)
  await rig.sync.pull()
  expect(rig.lines.filter((line) => line.includes("could not be fetched"))).toHaveLength(1)
})

test("whoever leaves waits for nothing and asks for nothing", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const rig = rigFor(home)
  await rig.sync.push()
  const before = rig.calls()
  rig.sync.stop()
  await rig.sync.pull()
  expect(rig.calls()).toBe(before)
})

test("a place that has got nothing is asked for nothing", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const rig = rigFor(home)
  await rig.sync.pull()
  expect(rig.calls()).toBe(0)
})

test("an archive that holds other things than it should puts nothing anywhere", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1", "skills/b": "1", "skills/late": "1" } })
  const archive = pack()
  archive.entry({ name: "../evil" }, "evil")
  archive.entry({ name: "/tmp/evil" }, "evil")
  archive.entry({ name: "skills/other" }, "evil")
  archive.entry({ name: "skills/a", type: "symlink", linkname: "/etc/passwd" })
  archive.entry({ name: "./skills/b" }, "not what was announced")
  archive.entry({ name: "./skills/late" }, "good")
  archive.entry({ name: "./skills/good" }, "good")
  archive.entry({ name: "./skills/good" }, "twice")
  archive.finalize()
  const returning = (path: string, mayReplace = true) => ({
    hash: createHash("sha256").update("good").digest("hex"),
    target: join(home.path, path),
    mode: 0o600,
    mayReplace: () => mayReplace,
  })
  const wanted = new Map([
    ["skills/a", returning("skills/a")],
    ["skills/b", returning("skills/b")],
    ["skills/late", returning("skills/late", false)],
    ["skills/good", returning("skills/good")],
  ])
  const parts: Uint8Array[] = []
  for await (const part of archive) parts.push(Buffer.from(part as Uint8Array))
  const iterate = async function* (): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(Buffer.concat(parts))
  }
  expect(await unpackReturning(iterate(), wanted)).toEqual(["skills/good"])
  expect(filesIn(home.path)).toEqual({ "skills/a": "1", "skills/b": "1", "skills/late": "1", "skills/good": "good" })
})

test("a file that is touched without a change is the newer one: it goes over, and does not come back", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const rig = rigFor(home)
  await rig.sync.push()
  put(rig.base, "skills/a", "2")
  utimesSync(join(home.path, "skills/a"), new Date(), new Date(Date.now() + 60_000))
  await rig.sync.pull()
  expect(filesIn(home.path)).toEqual({ "skills/a": "1" })
})
