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

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../../test/support/temporary-home.ts"
import type { Clock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { HERMES_SECRETS } from "../../config/protected-paths.ts"
import { createFileSync } from "./file-sync.ts"
import type { FileSync } from "./file-sync.ts"
import { unpackDownload } from "./sync-archive.ts"

interface SyncFixture {
  readonly sync: FileSync
  /** The remote base, which is a local directory. */
  readonly base: string
  /** Number of scripts that were run remotely. */
  calls(): number
  /** Makes `times` calls fail, after the next `after` calls. */
  breakConnection(times: number, options?: { readonly after: number }): void
  /** Delays between retries. */
  readonly delays: readonly number[]
  readonly lines: readonly string[]
  advance(ms: number): void
}

const SHELLS = [["sh"], ["busybox", "sh"]].filter(
  ([program = ""]) => spawnSync(program, ["--help"]).error === undefined,
)

function createFixture(
  home: TemporaryHome,
  changes: {
    readonly files?: readonly string[]
    readonly base?: string
    readonly maxInputBytes?: number
    readonly shell?: readonly string[]
  } = {},
): SyncFixture {
  const base = changes.base ?? join(home.workdir, "remote/.hermes")
  const [program = "sh", ...words] = changes.shell ?? ["sh"]
  const delays: number[] = []
  const lines: string[] = []
  let now = 1_000_000
  let calls = 0
  let broken = { after: 0, times: 0 }
  const clock: Clock = {
    now: () => now,
    sleep: (ms) => {
      delays.push(ms)
      return Promise.resolve()
    },
  }
  const sync = createFileSync({
    paths: {
      home: home.path,
      directories: ["skills"],
      caches: ["cache/images"],
      files: changes.files ?? [],
      provided: [],
      except: HERMES_SECRETS,
      neverDownloaded: [...HERMES_SECRETS, "skills", "config.yaml"],
    },
    base,
    workspaceName: "test workspace",
    maxInputBytes: changes.maxInputBytes ?? Number.POSITIVE_INFINITY,
    clock,
    log: createLogger({ redact: (text) => text, sinks: [{ level: "DEBUG", write: (line) => lines.push(line) }] }),
    runScript: (script, args, { stdin }) => {
      calls += 1
      if (calls > broken.after && calls <= broken.after + broken.times) {
        return Promise.reject(new Error("the connection is down"))
      }
      expect(locks(home)).toHaveLength(1)
      const result = spawnSync(program, [...words, "-c", script, "hermes", ...args], {
        input: stdin ?? new Uint8Array(),
        maxBuffer: 64 * 1024 * 1024,
      })
      return result.status === 0 ? Promise.resolve(result.stdout) : Promise.reject(new Error(result.stderr.toString()))
    },
  })
  return {
    sync,
    base,
    delays,
    lines,
    calls: () => calls,
    breakConnection: (times, { after } = { after: 0 }) => {
      broken = { after: calls + after, times }
    },
    advance: (ms) => {
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

/** All files below a directory with their content, except for the sync's own files. */
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
  "uploads the synced paths and nothing else ($shell)",
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
    const fixture = createFixture(home, { files: ["tokens/google.json"], shell })
    await fixture.sync.upload()
    expect(filesIn(fixture.base)).toEqual({
      "skills/greet/SKILL.md": "hello",
      "skills/greet/run.sh": "#!/bin/sh",
      [LONG]: "long",
      "skills/ with spaces ' $(x)": "odd",
      "skills/empty": "",
      "cache/images/a.png": "png",
      "tokens/google.json": "token",
    })
    expect(statSync(join(fixture.base, "skills/greet/run.sh")).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(fixture.base, ".sync"))).toHaveLength(1)
    expect([fixture.calls(), fixture.sync.takeNote(), locks(home)]).toEqual([2, undefined, []])
  },
)

test("uploads only changes, at most every five seconds, and removes deleted files", async () => {
  await using home = await temporaryHome({ files: { "skills/a/one": "1", "skills/a/two": "2", "skills/b": "b" } })
  const fixture = createFixture(home)
  await fixture.sync.upload()
  put(home.path, "skills/b", "changed")
  writeFileSync(join(fixture.base, "skills/a/two"), "changed remotely")
  await fixture.sync.upload()
  expect([fixture.calls(), filesIn(fixture.base)["skills/b"]]).toEqual([2, "b"])
  fixture.advance(5000)
  await Promise.all([fixture.sync.upload(), fixture.sync.upload()])
  expect([fixture.calls(), filesIn(fixture.base)]).toEqual([
    3,
    { "skills/a/one": "1", "skills/a/two": "changed remotely", "skills/b": "changed" },
  ])
  fixture.advance(5000)
  await fixture.sync.upload()
  expect(fixture.calls()).toBe(3)
  rmSync(join(home.path, "skills/a"), { recursive: true })
  fixture.advance(5000)
  await fixture.sync.upload()
  expect([filesIn(fixture.base), existsSync(join(fixture.base, "skills/a"))]).toEqual([
    { "skills/b": "changed" },
    false,
  ])
})

test("a later session uploads only what changed since, and removes files that are no longer synced", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1", "token.json": "t" } })
  await createFixture(home, { files: ["token.json"] }).sync.upload()
  const later = createFixture(home)
  await later.sync.upload()
  expect([later.calls(), filesIn(later.base)]).toEqual([2, { "skills/a": "1" }])
  const again = createFixture(home)
  await again.sync.upload()
  expect(again.calls()).toBe(1)
  rmSync(join(again.base, "skills"), { recursive: true })
  await createFixture(home).sync.upload()
  expect(filesIn(again.base)).toEqual({ "skills/a": "1" })
})

test("a failed upload is reported once, changes nothing remotely, and is retried later", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const fixture = createFixture(home)
  await fixture.sync.upload()
  put(home.path, "skills/a", "22")
  fixture.breakConnection(2)
  for (let round = 0; round < 2; round += 1) {
    fixture.advance(5000)
    await fixture.sync.upload()
  }
  expect(filesIn(fixture.base)).toEqual({ "skills/a": "1" })
  expect([fixture.sync.takeNote(), fixture.sync.takeNote()]).toEqual([
    `Skills and attachments of this home could not be copied to ${fixture.base} in the workspace; see the log for the reason.`,
    undefined,
  ])
  expect(fixture.lines.filter((line) => line.includes("the connection is down"))).toHaveLength(1)
  fixture.advance(5000)
  await fixture.sync.upload()
  expect(filesIn(fixture.base)).toEqual({ "skills/a": "22" })
})

test("a large upload is sent in parts, and an incomplete one replaces nothing", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1", "skills/b": "x".repeat(5000) } })
  const fixture = createFixture(home, { maxInputBytes: 2048 })
  await fixture.sync.upload()
  const parts = fixture.calls() - 1
  expect(parts).toBeGreaterThan(2)
  put(home.path, "skills/a", "22")
  put(home.path, "skills/b", "y".repeat(5001))
  fixture.advance(5000)
  fixture.breakConnection(1, { after: parts - 1 })
  await fixture.sync.upload()
  expect(filesIn(fixture.base)).toEqual({ "skills/a": "1", "skills/b": "x".repeat(5000) })
  fixture.advance(5000)
  await fixture.sync.upload()
  expect(filesIn(fixture.base)).toEqual({ "skills/a": "22", "skills/b": "y".repeat(5001) })
})

test("nothing is synced when the remote directory is this very home", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const fixture = createFixture(home, { base: home.path })
  await fixture.sync.upload()
  fixture.advance(5000)
  await fixture.sync.upload()
  await fixture.sync.download()
  expect([fixture.calls(), existsSync(join(home.path, ".sync")), filesIn(home.path)]).toEqual([
    1,
    false,
    { "skills/a": "1" },
  ])
})

test("files of another Hermes home are neither overwritten nor downloaded", async () => {
  await using home = await temporaryHome({ files: { "skills/both": "ours", "cache/images/ours": "1" } })
  const fixture = createFixture(home)
  put(fixture.base, "config.yaml", "theirs")
  put(fixture.base, "skills/both", "theirs")
  await fixture.sync.upload()
  put(fixture.base, "cache/images/theirs.png", "made by them")
  put(fixture.base, "cache/images/ours", "changed remotely")
  await fixture.sync.download()
  expect(filesIn(fixture.base)).toMatchObject({ "skills/both": "theirs", "config.yaml": "theirs" })
  expect(filesIn(home.path)).toEqual({ "skills/both": "ours", "cache/images/ours": "changed remotely" })
})

test.each(SHELLS.map((shell) => ({ shell })))(
  "downloads changed credentials and cache files, new ones only in the caches, and never a skill or a secret ($shell)",
  async ({ shell }) => {
    await using home = await temporaryHome({
      files: {
        "skills/b": "1",
        "cache/images/removed-locally": "1",
        "cache/images/newer-locally": "1",
        "token.json": "t",
        ".env": "KEY=1",
        "skills/a/token": "s",
        "cache/images/old": "1",
      },
    })
    const fixture = createFixture(home, { files: ["token.json", ".env", "skills/a/token"], shell })
    put(fixture.base, "cache/images/theirs-before", "1")
    await fixture.sync.upload()
    for (const path of [
      "skills/b",
      "skills/a/token",
      ".env",
      "cache/images/removed-locally",
      "cache/images/newer-locally",
      "token.json",
      "cache/images/old",
    ]) {
      put(fixture.base, path, `${path} changed remotely`)
    }
    put(fixture.base, "cache/images/new/shot.png", "new")
    put(fixture.base, "cache/images/line\nbreak", "odd")
    put(fixture.base, "skills/planted/SKILL.md", "evil")
    put(fixture.base, "skills/.hub/x", "evil")
    put(fixture.base, "auth.json", "evil")
    symlinkSync("/etc/passwd", join(fixture.base, "cache/images/link"))
    rmSync(join(home.path, "cache/images/removed-locally"))
    put(home.path, "cache/images/newer-locally", "changed locally")
    await fixture.sync.download()
    expect(filesIn(home.path)).toEqual({
      "skills/b": "1",
      "skills/a/token": "s",
      ".env": "KEY=1",
      "cache/images/newer-locally": "changed locally",
      "token.json": "token.json changed remotely",
      "cache/images/old": "cache/images/old changed remotely",
      "cache/images/new/shot.png": "new",
    })
    expect([locks(home), readdirSync(join(fixture.base, ".sync")).length, fixture.delays]).toEqual([[], 1, []])
  },
)

test("a local link does not redirect a download, neither out of the home nor into its skills", async () => {
  await using home = await temporaryHome({ files: { "cache/images/x": "1", "skills/a": "1" } })
  const fixture = createFixture(home)
  await fixture.sync.upload()
  mkdirSync(join(home.workdir, "outside"))
  symlinkSync(join(home.workdir, "outside"), join(home.path, "cache/images/out"))
  symlinkSync(join(home.path, "skills"), join(home.path, "cache/images/skills"))
  put(fixture.base, "cache/images/out/file", "evil")
  put(fixture.base, "cache/images/skills/planted", "evil")
  await fixture.sync.download()
  expect([filesIn(join(home.workdir, "outside")), readdirSync(join(home.path, "skills"))]).toEqual([{}, ["a"]])
  expect(fixture.lines.filter((line) => line.includes("redirects it"))).toHaveLength(2)
})

test("a large file is downloaded in parts", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const fixture = createFixture(home)
  await fixture.sync.upload()
  const large = Buffer.alloc(20 * 1024 * 1024, "0123456789abcdef")
  mkdirSync(join(fixture.base, "cache/images"), { recursive: true })
  writeFileSync(join(fixture.base, "cache/images/large"), large)
  const before = fixture.calls()
  await fixture.sync.download()
  expect([fixture.calls() - before, readFileSync(join(home.path, "cache/images/large")).equals(large)]).toEqual([
    4,
    true,
  ])
})

test("a failed download is retried after 2, 4 and 8 seconds, then logged", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const fixture = createFixture(home)
  await fixture.sync.upload()
  put(fixture.base, "cache/images/a", "new")
  fixture.breakConnection(3)
  await fixture.sync.download()
  expect([fixture.delays, filesIn(home.path)]).toEqual([
    [2000, 4000, 8000],
    { "skills/a": "1", "cache/images/a": "new" },
  ])
  fixture.breakConnection(4)
  await fixture.sync.download()
  expect(fixture.lines.filter((line) => line.includes("cannot download changed files"))).toHaveLength(1)
})

test("after stop nothing is downloaded", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const fixture = createFixture(home)
  await fixture.sync.upload()
  const before = fixture.calls()
  fixture.sync.stop()
  await fixture.sync.download()
  expect(fixture.calls()).toBe(before)
})

test("nothing is downloaded without an earlier upload", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const fixture = createFixture(home)
  await fixture.sync.download()
  expect(fixture.calls()).toBe(0)
})

test("only wanted archive entries with the expected checksum are stored", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1", "skills/b": "1", "skills/late": "1" } })
  const archive = pack()
  archive.entry({ name: "../evil" }, "evil")
  archive.entry({ name: "/tmp/evil" }, "evil")
  archive.entry({ name: "skills/other" }, "evil")
  archive.entry({ name: "skills/a", type: "symlink", linkname: "/etc/passwd" })
  archive.entry({ name: "./skills/b" }, "evil")
  archive.entry({ name: "./skills/longer" }, "good, and much more than announced")
  archive.entry({ name: "./skills/device", type: "character-device", devmajor: 1, devminor: 3 })
  archive.entry({ name: "./skills/late" }, "good")
  archive.entry({ name: "./skills/good" }, "good")
  archive.entry({ name: "./skills/good" }, "twice")
  archive.finalize()
  const target = (path: string, mayReplace = true) => ({
    hash: createHash("sha256").update("good").digest("hex"),
    size: 4,
    target: join(home.path, path),
    mode: 0o600,
    mayReplace: () => mayReplace,
  })
  const wanted = new Map([
    ["skills/a", target("skills/a")],
    ["skills/b", target("skills/b")],
    ["skills/longer", target("skills/longer")],
    ["skills/device", target("skills/device")],
    ["skills/late", target("skills/late", false)],
    ["skills/good", target("skills/good")],
  ])
  const parts: Uint8Array[] = []
  for await (const part of archive) parts.push(Buffer.from(part as Uint8Array))
  const iterate = async function* (): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(Buffer.concat(parts))
  }
  expect(await unpackDownload(iterate(), wanted)).toEqual(["skills/good"])
  expect(filesIn(home.path)).toEqual({ "skills/a": "1", "skills/b": "1", "skills/late": "1", "skills/good": "good" })
})

test("a local file with a newer modification time is not overwritten by a download", async () => {
  await using home = await temporaryHome({ files: { "cache/images/a": "1" } })
  const fixture = createFixture(home)
  await fixture.sync.upload()
  put(fixture.base, "cache/images/a", "2")
  utimesSync(join(home.path, "cache/images/a"), new Date(), new Date(Date.now() + 60_000))
  await fixture.sync.download()
  expect(filesIn(home.path)).toEqual({ "cache/images/a": "1" })
})

test("a skill that was removed remotely is uploaded again by the next session", async () => {
  await using home = await temporaryHome({ files: { "skills/a": "1" } })
  const first = createFixture(home)
  await first.sync.upload()
  rmSync(join(first.base, "skills/a"))
  const second = createFixture(home)
  await second.sync.upload()
  expect(filesIn(second.base)).toEqual({ "skills/a": "1" })
})
