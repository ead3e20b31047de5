import { existsSync } from "node:fs"
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"

import { temporaryHome } from "../../../../test/support/temporary-home.ts"
import { ok } from "../../../base/result.ts"
import { hiddenPaths } from "../hidden-paths.ts"
import { chooseSandbox } from "../sandbox.ts"
import { runtimeParameters } from "./runtime-parameters.ts"
import type { RuntimeParameters } from "./runtime-parameters.ts"

const EMPTY = { writable: [], readOnly: [], hidden: [], shown: [], sockets: [], network: false, cwd: "/" }

test("a protected path has a rule where something around it is writable, and the rule has no holes", async () => {
  await using home = await temporaryHome()
  const at = (...names: readonly string[]): string => join(home.workdir, ...names)
  for (const name of ["project/.git/objects", "checkout/tree", "elsewhere"]) await mkdir(at(name), { recursive: true })
  await symlink(at("elsewhere"), at("link"))
  await writeFile(at("project/.envrc"), "")
  const { writeConfig, readConfig } = runtimeParameters({
    ...EMPTY,
    writable: [at("project"), at("project/.git/objects"), at("checkout/tree"), at("link"), at("missing"), "/"],
    readOnly: [at("project/.git"), at("checkout"), at("elsewhere"), at("project/.envrc"), at("project/.husky")],
    hidden: [at("elsewhere/secret"), at("project/.ssh")],
  })
  // A command could have created the link, and a missing directory may become one.
  expect(new Set(writeConfig?.literalAllowOnly?.filter((path) => !path.startsWith("/dev/")))).toEqual(
    new Set([at("project"), at("checkout/tree"), at("project/.git/objects")]),
  )
  // Nothing around the checkout is writable, so that the directory inside it can be.
  expect(new Set(writeConfig?.literalDenyWithinAllow)).toEqual(
    new Set([at("project/.git"), at("project/.envrc"), at("project/.ssh")]),
  )
  expect(readConfig?.literalDenyOnly).toEqual([at("elsewhere/secret"), at("project/.ssh")])
})

test("what is writable or shown inside a hidden directory can be read, and other conversations cannot", async () => {
  await using home = await temporaryHome()
  const state = join(tmpdir(), "hermes-shell-0-1-abc", "state-1")
  const project = join(home.userHome, ".ssh", "project")
  for (const directory of [project, state]) await mkdir(directory, { recursive: true })
  const { readConfig } = runtimeParameters({
    ...EMPTY,
    writable: [home.workdir, project, state],
    hidden: [join(home.userHome, ".ssh"), home.path],
    shown: [join(home.path, "skills")],
  })
  expect(readConfig?.denyOnly).toEqual([join(tmpdir(), "hermes-shell-*"), join(tmpdir(), "hermes-pipes-*")])
  expect(new Set(readConfig?.literalAllowWithinDeny)).toEqual(new Set([join(home.path, "skills"), project, state]))
})

test("a private cache is a variable, and neither the account's own nor the Hermes home can be written for it", async () => {
  await using home = await temporaryHome()
  await mkdir(join(home.userHome, ".cache/pip"), { recursive: true })
  const found: RuntimeParameters[] = []
  const chosen = await chooseSandbox({
    mode: "required",
    network: true,
    writable: [home.userHome],
    homes: { userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path },
    path: "",
    loadRuntime: () => Promise.resolve(ok({ wrap: (parameters) => (found.push(parameters), []) })),
    trial: (prefix) => {
      prefix({ cwd: home.userHome, stateDirectory: home.workdir, hasTerminal: false })
      return Promise.resolve(true)
    },
    signal: new AbortController().signal,
  })
  expect(chosen).toMatchObject({ ok: true })
  const writeConfig = found[0]?.writeConfig
  const cache = found[0]?.variables["XDG_CACHE_HOME"] ?? ""
  expect(cache.startsWith(join(tmpdir(), "hermes-cache-"))).toBe(true)
  expect(existsSync(cache)).toBe(true)
  expect(writeConfig?.literalAllowOnly).toContain(cache)
  for (const protectedPath of [home.path, join(home.userHome, ".cache"), join(home.userHome, ".npm")])
    expect(writeConfig?.literalDenyWithinAllow).toContain(protectedPath)
  // Only a mount would need it.
  expect(existsSync(join(home.userHome, ".npm"))).toBe(false)
})

test("the network is open, reached through the proxy, or closed", () => {
  const proxy = { port: 4000, password: "secret" }
  const facts = (network: boolean, given?: typeof proxy) => {
    const parameters = runtimeParameters({ ...EMPTY, network, proxy: given, sockets: ["/run/one.sock"] })
    return [parameters.needsNetworkRestriction, parameters.httpProxyPort, parameters.allowUnixSockets]
  }
  expect(facts(true)).toEqual([false, undefined, ["/run/one.sock"]])
  expect(facts(true, proxy)).toEqual([true, 4000, ["/run/one.sock"]])
  // A command that may write nothing has no network, whatever the setting.
  expect(facts(false, proxy)).toEqual([true, undefined, ["/run/one.sock"]])
})

test("on macOS, the data of applications is hidden, and toolchains are not", async () => {
  await using home = await temporaryHome()
  for (const name of ["Keychains", "Caches", "Application Support/Slack", "Developer"])
    await mkdir(join(home.userHome, "Library", name), { recursive: true })
  const homes = { userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path }
  const inLibrary = (paths: readonly string[]) =>
    paths.filter((path) => path.includes("/Library/") && !path.endsWith("/Slack"))
  const { hidden, shown } = hiddenPaths(homes, "darwin")
  expect(new Set(inLibrary(hidden))).toEqual(
    new Set(["Keychains", "Application Support"].map((name) => join(home.userHome, "Library", name))).union(
      new Set(inLibrary(hiddenPaths(homes, "linux").hidden)),
    ),
  )
  expect(shown).toContain(join(home.userHome, "Library/Application Support/uv"))
})
