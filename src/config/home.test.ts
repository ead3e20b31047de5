import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import { environmentFrom, withVariables } from "./environment.ts"
import { ensureHome, HomeError, homeAt, inContainer, lostProfileWarning, resolveHome, secretMode } from "./home.ts"
import { titleWithReason } from "../../test/support/skip-reason.ts"

test.each([
  [undefined, "/u/.hermes", "/u/.hermes", "default"],
  ["  ", "/u/.hermes", "/u/.hermes", "default"],
  ["/u/.hermes", "/u/.hermes", "/u/.hermes", "default"],
  ["/u/.hermes/profiles/coder", "/u/.hermes/profiles/coder", "/u/.hermes", "coder"],
  ["/opt/data", "/opt/data", "/opt/data", "default"],
  ["/opt/data/profiles/coder", "/opt/data/profiles/coder", "/opt/data", "coder"],
  ["/u/.hermes/weird", "/u/.hermes/weird", "/u/.hermes", "custom"],
  ["/u/.hermes/profiles/a/b", "/u/.hermes/profiles/a/b", "/u/.hermes", "custom"],
  ["/u/.hermes/profiles/Bad Name", "/u/.hermes/profiles/Bad Name", "/u/.hermes", "custom"],
  ["/u/.hermes2", "/u/.hermes2", "/u/.hermes2", "default"],
])("HERMES_HOME=%s", (value, path, root, profile) => {
  const home = resolveHome(environmentFrom({ HOME: "/u", HERMES_HOME: value }))
  expect({ path: home.path, root: home.root, profile: home.profile }).toEqual({ path, root, profile })
})

test.each([undefined, "", "relative", "./x", "~"])("HOME=%j: the home of the account is used", (HOME) => {
  const home = resolveHome(environmentFrom({ HOME }))
  expect([home.userHome, home.path]).toEqual([userInfo().homedir, join(userInfo().homedir, ".hermes")])
})

test("links are resolved: a link to a profile is that profile, a linked default home is the default home", async () => {
  await using fixture = await temporaryHome()
  mkdirSync(join(fixture.path, "profiles", "coder"), { recursive: true })
  symlinkSync(join(fixture.path, "profiles", "coder"), join(fixture.workdir, "link"))
  const home = homeAt(join(fixture.workdir, "link"), environmentFrom({ HOME: fixture.userHome }))
  expect([home.root, home.profile]).toEqual([fixture.path, "coder"])
})

test("messages show the home relative to the user's", () => {
  const home = resolveHome(environmentFrom({ HOME: "/u" }))
  expect([
    home.display(),
    home.display("/u/.hermes/a/b"),
    home.display("/opt/x"),
    home.display("/u"),
    home.display("/user2"),
  ]).toEqual(["~/.hermes", "~/.hermes/a/b", "/opt/x", "~", "/user2"])
})

test("creates a private home with its directories; a second call has no effect", async () => {
  await using fixture = await temporaryHome()
  const environment = environmentFrom({
    HOME: fixture.userHome,
    HERMES_HOME: join(fixture.workdir, "a", "home"),
    HERMES_HOME_MODE: "0701",
    HERMES_CONTAINER: "0",
  })
  const home = resolveHome(environment)
  const previous = process.umask(0)
  try {
    ensureHome(home, environment)
    ensureHome(home, environment)
  } finally {
    process.umask(previous)
  }
  expect(readdirSync(home.path).toSorted()).toEqual([
    "cache",
    "cron",
    "hooks",
    "logs",
    "memories",
    "pairing",
    "sessions",
    "skills",
  ])
  expect(statSync(home.file("logs", "curator")).isDirectory()).toBe(true)
  expect([home.path, home.file("sessions")].map((path) => statSync(path).mode & 0o777)).toEqual([0o701, 0o701])
})

test("an existing home that others can read becomes private, unless disabled", async () => {
  await using fixture = await temporaryHome()
  const environment = environmentFrom({ HOME: fixture.userHome, HERMES_CONTAINER: "0" })
  chmodSync(fixture.path, 0o755)
  ensureHome(resolveHome(environment), withVariables(environment, { HERMES_SKIP_CHMOD: "1" }))
  const skipped = statSync(fixture.path).mode & 0o777
  ensureHome(resolveHome(environment), environment)
  expect([skipped, statSync(fixture.path).mode & 0o777]).toEqual([0o755, 0o700])
})

test("a home that cannot be created fails with one sentence", async () => {
  await using fixture = await temporaryHome({ files: { file: "" } })
  const environment = environmentFrom({ HOME: fixture.userHome, HERMES_HOME: join(fixture.path, "file", "x") })
  expect(() => ensureHome(resolveHome(environment), environment)).toThrow(HomeError)
  expect(() => ensureHome(resolveHome(environment), environment)).toThrow(
    /^cannot create ~\/\.hermes\/file\/x: .*HERMES_HOME/,
  )
})

test("containers are recognised by marker files, cgroup text and variables", async () => {
  await using fixture = await temporaryHome()
  const root = fixture.workdir
  const none = environmentFrom({})
  const before = inContainer(none, root)
  mkdirSync(join(root, "proc", "1"), { recursive: true })
  writeFileSync(join(root, "proc", "1", "cgroup"), "0::/init.scope\n")
  const host = inContainer(none, root)
  writeFileSync(join(root, "proc", "1", "cgroup"), "12:cpu:/docker/abc\n")
  expect([before, host, inContainer(none, root)]).toEqual([false, false, true])
  expect(inContainer(environmentFrom({ KUBERNETES_SERVICE_HOST: "10.0.0.1" }), "/nowhere")).toBe(true)
  expect(inContainer(environmentFrom({ HERMES_CONTAINER: "1" }), "/nowhere")).toBe(true)
})

test.each(["HERMES_SKIP_CHMOD", "HERMES_CONTAINER", "HERMES_MANAGED"])("%s keeps permission bits unchanged", (name) => {
  expect(secretMode(environmentFrom({ HERMES_CONTAINER: "0" }))).toBe(0o600)
  expect(secretMode(environmentFrom({ HERMES_CONTAINER: "0", [name]: "1" }))).toBeUndefined()
})

test("a lost profile is reported only when HERMES_HOME was not passed on", async () => {
  await using fixture = await temporaryHome({ files: { active_profile: "coder\n" } })
  const lost = lostProfileWarning(environmentFrom({ HOME: fixture.userHome }))
  expect(lost).toContain('"coder" is active')
  expect(lostProfileWarning(environmentFrom({ HOME: fixture.userHome, HERMES_HOME: fixture.path }))).toBeUndefined()
  writeFileSync(join(fixture.path, "active_profile"), "default")
  expect(lostProfileWarning(environmentFrom({ HOME: fixture.userHome }))).toBeUndefined()
})

const notRoot = process.getuid?.() === 0 ? undefined : "it needs root"

test.skipIf(notRoot !== undefined)(
  titleWithReason("directories made at run time are given to the named owner", notRoot),
  async () => {
    await using fixture = await temporaryHome()
    const environment = environmentFrom({ HOME: fixture.userHome, HERMES_UID: "1234", HERMES_GID: "2345" })
    const home = resolveHome(environment)
    ensureHome(home, environment)
    const { uid, gid } = statSync(home.file("sessions"))
    expect([uid, gid, statSync(home.path).uid]).toEqual([1234, 2345, 0])
  },
)

test.each(["relative", "./x", "profiles/work"])("HERMES_HOME=%s is refused", (value) => {
  expect(() => resolveHome(environmentFrom({ HOME: "/home/me", HERMES_HOME: value }))).toThrow(
    `HERMES_HOME is "${value}", so the home would depend on the directory in which Hermes is started; set it to an absolute path`,
  )
})

test("a leading ~ in HERMES_HOME is the home of the account", () => {
  const at = (value: string) => resolveHome(environmentFrom({ HOME: "/home/me", HERMES_HOME: value })).path
  expect([at("~/hermes"), at("~"), at("/x/~/y")]).toEqual(["/home/me/hermes", "/home/me", "/x/~/y"])
})
