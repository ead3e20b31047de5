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
import { ok } from "../../base/result.ts"
import { environmentFrom } from "../environment.ts"
import { homeAt, type Home } from "../home.ts"
import { exportProfile, importProfile } from "./profile-archive.ts"
import { createProfile, type CreateProfileOptions } from "./profile-create.ts"
import { describeProfile, readProfileDescription } from "./profile-description.ts"
import { deleteProfile, listProfiles, renameProfile, showProfile, useProfile } from "./profiles.ts"

function context(fixture: TemporaryHome, path = fixture.path) {
  const environment = environmentFrom({
    ...fixture.env,
    PATH: [join(fixture.userHome, ".local", "bin"), fixture.workdir].join(":"),
  })
  return { home: homeAt(path, environment), environment }
}

async function create(fixture: TemporaryHome, options: Partial<CreateProfileOptions> & { name: string }) {
  return await createProfile(context(fixture), {
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

const profile = (fixture: TemporaryHome, ...segments: string[]) => join(fixture.path, "profiles", ...segments)

test("a new profile is complete and private", async () => {
  await using fixture = await temporaryHome()
  expect(await create(fixture, { name: "Coder", description: "Writes code." })).toMatchObject({
    ok: true,
    value: { hints: [] },
  })
  expect(readdirSync(profile(fixture, "coder")).toSorted()).toEqual(
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
  expect(readFileSync(profile(fixture, "coder", ".env"), "utf8")).toMatch(/^#/)
  expect(
    [profile(fixture, "coder"), profile(fixture, "coder", ".env")].map((path) => statSync(path).mode & 0o777),
  ).toEqual([0o700, 0o600])
  expect([
    readFileSync(profile(fixture, "coder", "SOUL.md"), "utf8"),
    existsSync(profile(fixture, "coder", "skills", "seeded")),
  ]).toEqual(["Be kind.\n", true])
  expect(await readProfileDescription(profile(fixture, "coder"))).toEqual({ description: "Writes code.", auto: false })
  expect(readdirSync(join(fixture.path, "profiles"))).toEqual(["coder"])
})

test.each([
  [{ name: "coder" }, "failed"],
  [{ name: "root" }, "failed"],
  [{ name: "default" }, "failed"],
  [{ name: "no/slash" }, "invalid"],
  [{ name: "x", skills: false, clone: "settings" as const }, "invalid"],
  [{ name: "x", skills: false, cloneFrom: "coder" }, "invalid"],
  [{ name: "x", cloneFrom: "missing" }, "failed"],
])("%j is refused as %s", async (options, kind) => {
  await using fixture = await temporaryHome()
  await create(fixture, { name: "coder" })
  expect(await create(fixture, options)).toMatchObject({ ok: false, error: { kind } })
  expect(readdirSync(join(fixture.path, "profiles"))).toEqual(["coder"])
})

test("no bundled skills without the option", async () => {
  await using fixture = await temporaryHome()
  await create(fixture, { name: "bare", skills: false })
  expect([
    existsSync(profile(fixture, "bare", ".no-bundled-skills")),
    readdirSync(profile(fixture, "bare", "skills")),
  ]).toEqual([true, []])
})

test("cloning settings copies configuration, secrets, persona, skills and memory, and migrates at once", async () => {
  await using fixture = await temporaryHome({
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
  chmodSync(join(fixture.path, ".env"), 0o644)
  await create(fixture, { name: "twin", clone: "settings" })
  expect(readFileSync(profile(fixture, "twin", "config.yaml"), "utf8")).toBe(
    "_config_version: 29\nmemory: {write_approval: true}\n",
  )
  const copied = [".env", "SOUL.md", "skills/a/SKILL.md", "memories/MEMORY.md", "memories/USER.md"]
  expect(copied.map((name) => readFileSync(profile(fixture, "twin", name), "utf8"))).toEqual([
    "K=1\n",
    "Me.",
    "s",
    "m",
    "u",
  ])
  expect(statSync(profile(fixture, "twin", ".env")).mode & 0o777).toBe(0o600)
  expect([
    existsSync(profile(fixture, "twin", "state.db")),
    existsSync(profile(fixture, "twin", "logs", "x.log")),
  ]).toEqual([false, false])
})

test("cloning everything omits history, files of running processes and what the root stores for all profiles", async () => {
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
  await using fixture = await temporaryHome({
    files: Object.fromEntries([...taken, ...left].map((name) => [name, "default"])),
  })
  await create(fixture, { name: "twin", clone: "everything" })
  expect(taken.filter((name) => !existsSync(profile(fixture, "twin", name)))).toEqual([])
  expect(left.filter((name) => existsSync(profile(fixture, "twin", name)))).toEqual([])
  expect(existsSync(profile(fixture, "twin", "profiles"))).toBe(false)
})

test("a wrapper starts the profile, and does not hide another program or command", async () => {
  await using fixture = await temporaryHome()
  const made = await create(fixture, { name: "coder", alias: true })
  const path = join(fixture.userHome, ".local", "bin", "coder")
  expect(made).toMatchObject({ ok: true, value: { wrapper: path, hints: [] } })
  expect([readFileSync(path, "utf8").includes('exec hermes -p coder "$@"'), statSync(path).mode & 0o777]).toEqual([
    true,
    0o755,
  ])
  writeFileSync(join(fixture.workdir, "taken"), "#!/bin/sh\n", { mode: 0o755 })
  for (const name of ["config", "taken"]) {
    const refused = await create(fixture, { name, alias: true })
    expect(refused).toMatchObject({ ok: true, value: { hints: [expect.stringContaining(`hermes -p ${name}`)] } })
    expect(existsSync(join(fixture.userHome, ".local", "bin", name))).toBe(false)
  }
})

test("use, list, show, rename and delete agree with each other", async () => {
  await using fixture = await temporaryHome()
  const here = context(fixture)
  const checked: string[] = []
  const refuseWhileRunning = (home: Home) => {
    checked.push(home.profile)
    return ok(undefined)
  }
  await create(fixture, { name: "b", alias: true })
  await create(fixture, { name: "a" })
  expect(useProfile(here, "b").ok).toBe(true)
  expect(readFileSync(join(fixture.path, "active_profile"), "utf8")).toBe("b\n")
  expect((await listProfiles(here)).map(({ name, active }) => [name, active])).toEqual([
    ["default", false],
    ["a", false],
    ["b", true],
  ])
  expect(await renameProfile(here, { from: "b", to: "c" }, { refuseWhileRunning, commands: [] })).toMatchObject({
    ok: true,
  })
  expect(readFileSync(join(fixture.path, "active_profile"), "utf8")).toBe("c\n")
  expect(readdirSync(join(fixture.userHome, ".local", "bin"))).toEqual(["c"])
  expect(await showProfile(here, "c")).toMatchObject({
    ok: true,
    value: { name: "c", active: true, wrapper: join(fixture.userHome, ".local", "bin", "c") },
  })
  expect(await deleteProfile(here, "c", { refuseWhileRunning })).toEqual({ ok: true, value: "c" })
  expect([
    existsSync(join(fixture.path, "active_profile")),
    existsSync(profile(fixture, "c")),
    readdirSync(join(fixture.userHome, ".local", "bin")),
    checked,
  ]).toEqual([false, false, [], ["b", "c"]])
  const refusals = [
    await deleteProfile(here, "default", { refuseWhileRunning }),
    await renameProfile(here, { from: "default", to: "x" }, { refuseWhileRunning, commands: [] }),
    await renameProfile(here, { from: "a", to: "default" }, { refuseWhileRunning, commands: [] }),
    await showProfile(here, "c"),
    useProfile(here, "../a"),
  ]
  expect(refusals.map((refusal) => refusal.ok)).toEqual([false, false, false, false, false])
  useProfile(here, "a")
  useProfile(here, "default")
  expect(existsSync(join(fixture.path, "active_profile"))).toBe(false)
})

test("a description by the user is not replaced by a generated one without overwrite", async () => {
  await using fixture = await temporaryHome({ files: { "profile.yaml": "# about\nowner: me\n" } })
  await describeProfile(fixture.path, { description: "Mine", auto: false }, { overwrite: false })
  const refused = await describeProfile(fixture.path, { description: "Generated", auto: true }, { overwrite: false })
  expect([refused.ok, await readProfileDescription(fixture.path)]).toEqual([
    false,
    { description: "Mine", auto: false },
  ])
  await describeProfile(fixture.path, { description: "Generated", auto: true }, { overwrite: true })
  expect(readFileSync(join(fixture.path, "profile.yaml"), "utf8")).toBe(
    "# about\nowner: me\ndescription: Generated\ndescription_auto: true\n",
  )
})

test("an exported profile can be imported under another name, without its secrets", async () => {
  await using fixture = await temporaryHome()
  await create(fixture, { name: "coder" })
  writeFileSync(profile(fixture, "coder", "auth.json"), "{}")
  writeFileSync(profile(fixture, "coder", ".env"), "K=planted")
  writeFileSync(profile(fixture, "coder", "config.yaml"), "model: x\n")
  writeFileSync(profile(fixture, "coder", "state.db"), Buffer.alloc(100_000, 7))
  mkdirSync(profile(fixture, "coder", "skills", "s"))
  writeFileSync(profile(fixture, "coder", "skills", "s", "run.sh"), "#!/bin/sh\n", { mode: 0o755 })
  symlinkSync("/etc/passwd", profile(fixture, "coder", "link"))
  const output = join(fixture.workdir, "coder.tar.gz")
  expect(await exportProfile(context(fixture), "coder", { output })).toMatchObject({ ok: true })
  expect(await importProfile(context(fixture), output)).toMatchObject({ ok: false, error: { kind: "failed" } })
  expect(await importProfile(context(fixture), output, { name: "default" })).toMatchObject({ ok: false })
  expect(await importProfile(context(fixture), output, { name: "twin" })).toMatchObject({ ok: true })
  expect([".env", "auth.json", "link"].map((name) => existsSync(profile(fixture, "twin", name)))).toEqual([
    false,
    false,
    false,
  ])
  expect([
    readFileSync(profile(fixture, "twin", "config.yaml"), "utf8"),
    statSync(profile(fixture, "twin", "state.db")).size,
  ]).toEqual(["model: x\n", 100_000])
  expect(statSync(profile(fixture, "twin", "skills", "s", "run.sh")).mode & 0o111).not.toBe(0)
  expect(readdirSync(join(fixture.path, "profiles")).toSorted()).toEqual(["coder", "twin"])
})

test("keys in config.yaml and in copies of it are not exported", async () => {
  await using fixture = await temporaryHome()
  await create(fixture, { name: "coder" })
  const settings = `# mine
model:
  default: x # the model
  api_key: sk-planted-1
providers:
  office: { base_url: "https://ada:planted-2@example.com/v1", key_env: OFFICE_KEY, api_keys: [planted-3] }
  lab:
    api_key: \${LAB_KEY}
    headers: { X-Team: blue, Authorization: planted-4 }
`
  writeFileSync(profile(fixture, "coder", "config.yaml"), settings)
  writeFileSync(profile(fixture, "coder", "config.yaml.bak.20260102-030405"), settings)
  mkdirSync(profile(fixture, "coder", "cache"))
  writeFileSync(profile(fixture, "coder", "cache", "config.parsed.json"), JSON.stringify(settings))
  const output = join(fixture.workdir, "coder.tar.gz")
  expect(await exportProfile(context(fixture), "coder", { output })).toMatchObject({
    ok: true,
    value: {
      removedSettings: [
        "model.api_key",
        "providers.office.base_url",
        "providers.office.api_keys",
        "providers.lab.headers.Authorization",
      ],
    },
  })
  await importProfile(context(fixture), output, { name: "twin" })
  const copy = readFileSync(profile(fixture, "twin", "config.yaml"), "utf8")
  expect(copy).not.toContain("planted")
  expect(copy).toMatch(/^# mine\nmodel:\n {2}default: x # the model\nproviders:\n[^]*api_key: \$\{LAB_KEY\}\n/)
  expect(existsSync(profile(fixture, "twin", "config.yaml.bak.20260102-030405"))).toBe(false)
  expect(readdirSync(profile(fixture, "twin", "cache"))).toEqual([])
  writeFileSync(profile(fixture, "coder", "config.yaml"), "model: [\n")
  expect(await exportProfile(context(fixture), "coder", { output })).toMatchObject({
    ok: false,
    error: { kind: "failed", message: expect.stringContaining("so its keys cannot be left out") as string },
  })
})

test("the root is exported without databases, logs, caches, checkpoints and other profiles", async () => {
  const left = ["state.db", "kanban.db", "logs/a.log", "cache/x", "checkpoints/x", "profiles/p/x", ".env", "auth.json"]
  await using fixture = await temporaryHome({
    config: "a: 1\n",
    files: Object.fromEntries([...left, "SOUL.md"].map((name) => [name, "x"])),
  })
  const output = join(fixture.workdir, "root.tar.gz")
  await exportProfile(context(fixture), "default", { output })
  await importProfile(context(fixture), output, { name: "copy" })
  expect(readdirSync(profile(fixture, "copy")).toSorted()).toEqual(["SOUL.md", "config.yaml"])
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
  await using fixture = await temporaryHome()
  const path = join(fixture.workdir, "a.tar.gz")
  await archiveOf(path, headers)
  expect(await importProfile(context(fixture), path, { name: "new" })).toMatchObject({
    ok: false,
    error: { kind: "failed" },
  })
  expect([readdirSync(join(fixture.path, "profiles")), existsSync(join(dirname(fixture.path), "evil"))]).toEqual([
    [],
    false,
  ])
})

test("a file that is not an archive is refused", async () => {
  await using fixture = await temporaryHome({ workFiles: { "a.tar.gz": "not gzip" } })
  expect(await importProfile(context(fixture), join(fixture.workdir, "a.tar.gz"), { name: "new" })).toMatchObject({
    ok: false,
  })
  expect(await importProfile(context(fixture), join(fixture.workdir, "missing"), { name: "new" })).toMatchObject({
    ok: false,
  })
  expect(readdirSync(join(fixture.path, "profiles"))).toEqual([])
})
