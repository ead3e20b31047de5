import {
  chmodSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { createGzip } from "node:zlib"
import { pack, type Header } from "tar-stream"
import { expect, test } from "vitest"
import { temporaryHome, type TemporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../environment.ts"
import { homeAt, type Home } from "../home.ts"
import { exportProfile, importProfile } from "./profile-archive.ts"
import { createProfile, type CreateProfileOptions } from "./profile-create.ts"
import { describeProfile, readDescription } from "./profile-description.ts"
import { deleteProfile, listProfiles, renameProfile, showProfile, useProfile } from "./profiles.ts"

function context(place: TemporaryHome, path = place.path) {
  const environment = environmentFrom({
    ...place.env,
    PATH: [join(place.userHome, ".local", "bin"), place.workdir].join(":"),
  })
  return { home: homeAt(path, environment), environment }
}

async function create(place: TemporaryHome, options: Partial<CreateProfileOptions> & { name: string }) {
  return await createProfile(context(place), {
    clone: "nothing",
    alias: false,
    skills: true,
    soul: "Be kind.\n",
    commands: ["chat", "config"],
    seedSkills: async (home: Home) => {
      writeFileSync(home.file("skills", "seeded"), "")
      return await Promise.resolve()
    },
    ...options,
  })
}

const profile = (place: TemporaryHome, ...segments: string[]) => join(place.path, "profiles", ...segments)

test("a new profile is complete and private", async () => {
  await using place = await temporaryHome()
  expect(await create(place, { name: "Coder", description: "Writes code." })).toMatchObject({
    ok: true,
    value: { hints: [] },
  })
  expect(readdirSync(profile(place, "coder")).toSorted()).toEqual(
    [
      ".env",
      "SOUL.md",
      "cron",
      "home",
      "logs",
      "memories",
      "plans",
      "profile.yaml",
      "sessions",
      "skills",
      "skins",
      "workspace",
    ].toSorted(),
  )
  expect(readFileSync(profile(place, "coder", ".env"), "utf8")).toMatch(/^#/)
  expect([profile(place, "coder"), profile(place, "coder", ".env")].map((path) => statSync(path).mode & 0o777)).toEqual(
    [0o700, 0o600],
  )
  expect([
    readFileSync(profile(place, "coder", "SOUL.md"), "utf8"),
    existsSync(profile(place, "coder", "skills", "seeded")),
  ]).toEqual(["Be kind.\n", true])
  expect(await readDescription(profile(place, "coder"))).toEqual({ description: "Writes code.", auto: false })
  expect(readdirSync(join(place.path, "profiles"))).toEqual(["coder"])
})

test.each([
  [{ name: "coder" }, 1],
  [{ name: "root" }, 1],
  [{ name: "default" }, 1],
  [{ name: "no/slash" }, 2],
  [{ name: "x", skills: false, clone: "settings" as const }, 2],
  [{ name: "x", skills: false, cloneFrom: "coder" }, 2],
  [{ name: "x", cloneFrom: "nobody" }, 1],
])("%j is refused with exit %i", async (options, exitCode) => {
  await using place = await temporaryHome()
  await create(place, { name: "coder" })
  expect(await create(place, options)).toMatchObject({ ok: false, error: { exitCode } })
  expect(readdirSync(join(place.path, "profiles"))).toEqual(["coder"])
})

test("no bundled skills where none are wanted", async () => {
  await using place = await temporaryHome()
  await create(place, { name: "bare", skills: false })
  expect([
    existsSync(profile(place, "bare", ".no-bundled-skills")),
    readdirSync(profile(place, "bare", "skills")),
  ]).toEqual([true, []])
})

test("cloning settings takes configuration, secrets, persona, skills and memory, and migrates at once", async () => {
  await using place = await temporaryHome({
    config: "_config_version: 28\nmemory: {write_mode: approve}\n",
    files: {
      ".env": "K=1\n",
      "SOUL.md": "Me.",
      "skills/a/SKILL.md": "s",
      "memories/MEMORY.md": "m",
      "memories/USER.md": "u",
      "state.db": "d",
      "logs/x.log": "l",
    },
  })
  chmodSync(join(place.path, ".env"), 0o644)
  await create(place, { name: "twin", clone: "settings" })
  expect(readFileSync(profile(place, "twin", "config.yaml"), "utf8")).toBe(
    "_config_version: 29\nmemory: {write_approval: true}\n",
  )
  const copied = [".env", "SOUL.md", "skills/a/SKILL.md", "memories/MEMORY.md", "memories/USER.md"]
  expect(copied.map((name) => readFileSync(profile(place, "twin", name), "utf8"))).toEqual([
    "K=1\n",
    "Me.",
    "s",
    "m",
    "u",
  ])
  expect(statSync(profile(place, "twin", ".env")).mode & 0o777).toBe(0o600)
  expect([existsSync(profile(place, "twin", "state.db")), existsSync(profile(place, "twin", "logs", "x.log"))]).toEqual(
    [false, false],
  )
})

test("cloning everything leaves out history, running things and what the root holds for all", async () => {
  const taken = ["config.yaml", "auth.json", "plugins/p/plugin.yaml", "cron/jobs.json", "logs/agent.log"]
  const left = [
    "state.db",
    "state.db-wal",
    "sessions/1.json",
    "backups/b.zip",
    "state-snapshots/s/x",
    "checkpoints/c/x",
    "gateway.pid",
    "gateway_state.json",
    "processes.json",
    "x.tmp",
    "auth.lock",
    "bin/tool",
    "node_modules/m/i.js",
    "checkout/.git/HEAD",
    "kanban.db",
    "active_profile",
  ]
  await using place = await temporaryHome({
    files: Object.fromEntries([...taken, ...left].map((name) => [name, "default"])),
  })
  await create(place, { name: "twin", clone: "everything" })
  expect(taken.filter((name) => !existsSync(profile(place, "twin", name)))).toEqual([])
  expect(left.filter((name) => existsSync(profile(place, "twin", name)))).toEqual([])
  expect(existsSync(profile(place, "twin", "profiles"))).toBe(false)
})

test("a wrapper starts the profile, and no foreign program or command is shadowed", async () => {
  await using place = await temporaryHome()
  const made = await create(place, { name: "coder", alias: true })
  const path = join(place.userHome, ".local", "bin", "coder")
  expect(made).toMatchObject({ ok: true, value: { wrapper: path, hints: [] } })
  expect([readFileSync(path, "utf8").includes('exec hermes -p coder "$@"'), statSync(path).mode & 0o777]).toEqual([
    true,
    0o755,
  ])
  writeFileSync(join(place.workdir, "taken"), "#!/bin/sh\n", { mode: 0o755 })
  for (const name of ["config", "taken"]) {
    const refused = await create(place, { name, alias: true })
    expect(refused).toMatchObject({ ok: true, value: { hints: [expect.stringContaining(`hermes -p ${name}`)] } })
    expect(existsSync(join(place.userHome, ".local", "bin", name))).toBe(false)
  }
})

test("use, list, show, rename and delete agree with each other", async () => {
  await using place = await temporaryHome()
  const here = context(place)
  const stopped: string[] = []
  const stopServices = async (home: Home) => {
    stopped.push(home.profile)
    return await Promise.resolve()
  }
  await create(place, { name: "b", alias: true })
  await create(place, { name: "a" })
  expect(useProfile(here, "b").ok).toBe(true)
  expect(readFileSync(join(place.path, "active_profile"), "utf8")).toBe("b\n")
  expect((await listProfiles(here)).map(({ name, active }) => [name, active])).toEqual([
    ["default", false],
    ["a", false],
    ["b", true],
  ])
  expect(await renameProfile(here, { from: "b", to: "c" }, { stopServices, commands: [] })).toMatchObject({ ok: true })
  expect(readFileSync(join(place.path, "active_profile"), "utf8")).toBe("c\n")
  expect(readdirSync(join(place.userHome, ".local", "bin"))).toEqual(["c"])
  expect(await showProfile(here, "c")).toMatchObject({
    ok: true,
    value: { name: "c", active: true, wrapper: join(place.userHome, ".local", "bin", "c") },
  })
  expect(await deleteProfile(here, "c", { stopServices })).toEqual({ ok: true, value: "c" })
  expect([
    existsSync(join(place.path, "active_profile")),
    existsSync(profile(place, "c")),
    readdirSync(join(place.userHome, ".local", "bin")),
    stopped,
  ]).toEqual([false, false, [], ["b", "c"]])
  const refusals = [
    await deleteProfile(here, "default", { stopServices }),
    await renameProfile(here, { from: "default", to: "x" }, { stopServices, commands: [] }),
    await renameProfile(here, { from: "a", to: "default" }, { stopServices, commands: [] }),
    await showProfile(here, "c"),
    useProfile(here, "../a"),
  ]
  expect(refusals.map((refusal) => refusal.ok)).toEqual([false, false, false, false, false])
  useProfile(here, "a")
  useProfile(here, "default")
  expect(existsSync(join(place.path, "active_profile"))).toBe(false)
})

test("a description of your own is not replaced by a generated one unless asked", async () => {
  await using place = await temporaryHome({ files: { "profile.yaml": "# about\nowner: me\n" } })
  await describeProfile(place.path, { description: "Mine", auto: false }, { overwrite: false })
  const refused = await describeProfile(place.path, { description: "Generated", auto: true }, { overwrite: false })
  expect([refused.ok, await readDescription(place.path)]).toEqual([false, { description: "Mine", auto: false }])
  await describeProfile(place.path, { description: "Generated", auto: true }, { overwrite: true })
  expect(readFileSync(join(place.path, "profile.yaml"), "utf8")).toBe(
    "# about\nowner: me\ndescription: Generated\ndescription_auto: true\n",
  )
})

test("an exported profile comes back under another name, without its secrets", async () => {
  await using place = await temporaryHome()
  await create(place, { name: "coder" })
  writeFileSync(profile(place, "coder", "auth.json"), "{}")
  writeFileSync(profile(place, "coder", ".env"), "K=planted")
  writeFileSync(profile(place, "coder", "config.yaml"), "model: x\n")
  writeFileSync(profile(place, "coder", "state.db"), Buffer.alloc(100_000, 7))
  mkdirSync(profile(place, "coder", "skills", "s"))
  writeFileSync(profile(place, "coder", "skills", "s", "run.sh"), "#!/bin/sh\n", { mode: 0o755 })
  symlinkSync("/etc/passwd", profile(place, "coder", "link"))
  const output = join(place.workdir, "coder.tar.gz")
  expect(await exportProfile(context(place), "coder", { output })).toMatchObject({ ok: true })
  expect(await importProfile(context(place), output)).toMatchObject({ ok: false, error: { exitCode: 1 } })
  expect(await importProfile(context(place), output, { name: "default" })).toMatchObject({ ok: false })
  expect(await importProfile(context(place), output, { name: "twin" })).toMatchObject({ ok: true })
  expect([".env", "auth.json", "link"].map((name) => existsSync(profile(place, "twin", name)))).toEqual([
    false,
    false,
    false,
  ])
  expect([
    readFileSync(profile(place, "twin", "config.yaml"), "utf8"),
    statSync(profile(place, "twin", "state.db")).size,
  ]).toEqual(["model: x\n", 100_000])
  expect(statSync(profile(place, "twin", "skills", "s", "run.sh")).mode & 0o111).not.toBe(0)
  expect(readdirSync(join(place.path, "profiles")).toSorted()).toEqual(["coder", "twin"])
})

test("the root is exported without databases, logs, caches, checkpoints and other profiles", async () => {
  const left = ["state.db", "kanban.db", "logs/a.log", "cache/x", "checkpoints/x", "profiles/p/x", ".env", "auth.json"]
  await using place = await temporaryHome({
    config: "a: 1\n",
    files: Object.fromEntries([...left, "SOUL.md"].map((name) => [name, "x"])),
  })
  const output = join(place.workdir, "root.tar.gz")
  await exportProfile(context(place), "default", { output })
  await importProfile(context(place), output, { name: "copy" })
  expect(readdirSync(profile(place, "copy")).toSorted()).toEqual(["SOUL.md", "config.yaml"])
})

type Entry = Partial<Header> & { readonly name: string }

async function archiveOf(path: string, headers: readonly Entry[]): Promise<void> {
  const archive = pack()
  for (const header of headers) archive.entry(header, "")
  archive.finalize()
  await pipeline(archive, createGzip(), createWriteStream(path))
}

const good: Entry = { name: "p/config.yaml" }
test.each<[string, Entry[]]>([
  ["a path upwards", [good, { name: "p/../../evil" }]],
  ["an absolute path", [good, { name: "/tmp/evil" }]],
  ["a drive", [good, { name: "C:/evil" }]],
  ["a backslash", [good, { name: "p\\..\\evil" }]],
  ["a symbolic link", [good, { name: "p/link", type: "symlink", linkname: "/etc" }]],
  ["a hard link", [good, { name: "p/link", type: "link", linkname: "p/config.yaml" }]],
  ["a device", [good, { name: "p/null", type: "character-device" }]],
  ["a pipe", [good, { name: "p/pipe", type: "fifo" }]],
  ["two roots", [good, { name: "q/x" }]],
  ["a file at the top", [{ name: "file" }]],
  ["nothing", []],
])("an archive with %s is refused and leaves nothing", async (_, headers) => {
  await using place = await temporaryHome()
  const path = join(place.workdir, "a.tar.gz")
  await archiveOf(path, headers)
  expect(await importProfile(context(place), path, { name: "new" })).toMatchObject({
    ok: false,
    error: { exitCode: 1 },
  })
  expect([readdirSync(join(place.path, "profiles")), existsSync(join(dirname(place.path), "evil"))]).toEqual([
    [],
    false,
  ])
})

test("a file that is no archive is refused", async () => {
  await using place = await temporaryHome({ workFiles: { "a.tar.gz": "not gzip" } })
  expect(await importProfile(context(place), join(place.workdir, "a.tar.gz"), { name: "new" })).toMatchObject({
    ok: false,
  })
  expect(await importProfile(context(place), join(place.workdir, "missing"), { name: "new" })).toMatchObject({
    ok: false,
  })
  expect(readdirSync(join(place.path, "profiles"))).toEqual([])
})
