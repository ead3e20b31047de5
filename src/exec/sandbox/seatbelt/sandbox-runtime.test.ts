import { chmod, mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { wrapCommandWithSandboxMacOS } from "@anthropic-ai/sandbox-runtime/dist/sandbox/macos-sandbox-utils.js"
import { expect, test, vi } from "vitest"

import { NOT_LINUX, titleWithReason } from "../../../../test/support/skip-reason.ts"
import { temporaryHome } from "../../../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../../../test/support/temporary-home.ts"
import { fail, ok } from "../../../base/result.ts"
import type { SandboxTrial } from "../../local/local-shell-state.ts"
import { chooseSandbox } from "../sandbox.ts"
import type { SandboxSettings } from "../sandbox-settings.ts"
import { runtimeParameters } from "./runtime-parameters.ts"
import { loadSandboxRuntime, seatbeltRuntime } from "./sandbox-runtime.ts"

const PATH = process.env["PATH"] ?? ""
const signal = new AbortController().signal

/** The rules of a profile that contain a text, without the tags for the system log. */
function rulesIn(profile: string, text: string): readonly string[] {
  return profile
    .replaceAll(/\s*\(with message "[^"]*"\)/gu, "")
    .split(/\n(?=[(;])/u)
    .filter((rule) => rule.includes(text))
    .map((rule) => rule.trim())
}

test("the profile for macOS has a rule for each wall", async () => {
  const runtime = seatbeltRuntime(wrapCommandWithSandboxMacOS, PATH)
  await using home = await temporaryHome({ workFiles: { ".git/config": "", ".envrc": "" } })
  const state = await mkdtemp(join(tmpdir(), "hermes-shell-0-1-"))
  const at = (name: string): string => join(home.workdir, name)
  const prefix = runtime.wrap(
    runtimeParameters({
      writable: [home.workdir, tmpdir(), state],
      readOnly: [at(".git/config"), at(".envrc")],
      hidden: [home.path],
      shown: [join(home.path, "skills")],
      network: true,
      proxy: { port: 4000, password: "secret" },
      sockets: ["/run/one.sock"],
      cwd: home.workdir,
      keepTerminal: true,
    }),
  )
  const [shell, flag, script = "", name, ...variables] = prefix
  expect([shell, flag, name]).toEqual(["/bin/sh", "-c", "sh"])
  expect(variables).toEqual(["GIT_TEMPLATE_DIR=", "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1"])
  expect(script).toMatch(/^exec \/usr\/bin\/env SANDBOX_RUNTIME=1 .*\/usr\/bin\/sandbox-exec -p '\(version 1\)\n/su)
  expect(script.endsWith(` /bin/bash -c 'exec /usr/bin/env "$@"' bash "TMPDIR=\${TMPDIR:-/tmp}" "$@"`)).toBe(true)
  expect(script).toMatch(/HTTPS_PROXY=http:\/\/\S+:secret@localhost:4000'? /u)
  expect(rulesIn(script, "(deny default")).toEqual(["(deny default)"])
  const inHome = rulesIn(script, home.path)
  expect(inHome[0]).toMatch(/^\(deny file-read\*\n/u)
  expect(inHome[1]).toMatch(/^\(allow file-read\*\n\s+\(subpath "[^"]*\/skills"\)/u)
  expect(rulesIn(script, "(allow file-write*")[0]).toContain(`(subpath "${home.workdir}")`)
  const [denied] = rulesIn(script, "(deny file-write*")
  for (const path of [at(".git/config"), at(".envrc")]) expect(denied).toContain(`(subpath "${path}")`)
  expect(rulesIn(script, "(allow network")).toEqual([
    '(allow network-bind (local unix-socket (subpath "/run/one.sock")))',
    '(allow network-outbound (remote unix-socket (subpath "/run/one.sock")))',
    '(allow network-bind (local ip "localhost:4000"))',
    '(allow network-inbound (local ip "localhost:4000"))',
    '(allow network-outbound (remote ip "localhost:4000"))',
  ])
  expect(rulesIn(script, "(allow pseudo-tty)")).toHaveLength(1)
  // Its own shell state stays usable, and that of other conversations is out of reach.
  for (const rule of rulesIn(script, "hermes-shell-[^/]*")
    .filter((one) => /^\(deny (?:file-read\*|file-write-unlink)\n/u.test(one))
    .slice(-2))
    expect(rule).toContain(`(require-not (subpath "${state}"))`)
})

test("the installed version of the package fits, and another one is refused", async () => {
  expect(await loadSandboxRuntime(PATH)).toMatchObject({ ok: true })
  const withoutWalls = seatbeltRuntime(() => "sandbox-exec true", PATH)
  expect(() => withoutWalls.wrap(runtimeParameters(ALLOWING_NOTHING))).toThrow("has another form")
})

const ALLOWING_NOTHING = { writable: [], readOnly: [], hidden: [], shown: [], sockets: [], network: false, cwd: "/" }

test("a program that commands could have replaced does not run outside the sandbox", async () => {
  await using home = await temporaryHome({ workFiles: { "bin/which": "#!/bin/sh\ntouch ran\n" } })
  await chmod(join(home.workdir, "bin/which"), 0o755)
  const runtime = seatbeltRuntime(wrapCommandWithSandboxMacOS, `${join(home.workdir, "bin")}:${PATH}`)
  const walls = { ...ALLOWING_NOTHING, writable: [home.workdir] }
  expect(() => runtime.wrap(runtimeParameters(walls))).toThrow("bin/which can be written by commands")
})

function settingsFor(home: TemporaryHome): SandboxSettings {
  return {
    mode: "auto",
    network: true,
    writable: [home.workdir],
    homes: { userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path },
    path: PATH,
    signal,
  }
}

test("without the package, commands run without a sandbox or not at all, with the command that installs it", async () => {
  await using home = await temporaryHome()
  const reason = "@anthropic-ai/sandbox-runtime is not installed; install it with `npm install -g …`"
  const settings = { ...settingsFor(home), loadRuntime: () => Promise.resolve(fail(reason)) }
  expect(await chooseSandbox(settings)).toEqual(
    ok({
      kind: "unavailable",
      note: `Commands run without a sandbox: ${reason}, or set terminal.sandbox to off.`,
    }),
  )
  expect(await chooseSandbox({ ...settings, mode: "required" })).toEqual(
    fail(`commands must run in the sandbox, but ${reason}, or set terminal.sandbox to off`),
  )
  expect(await chooseSandbox({ ...settings, network: false })).toMatchObject({
    error: expect.stringContaining("set terminal.sandbox_network to true"),
  })
})

test.skipIf(NOT_LINUX !== undefined)(
  titleWithReason("macOS uses the package, and a sandbox-exec that does not work is named", NOT_LINUX),
  async () => {
    await using home = await temporaryHome()
    const platform = vi.spyOn(process, "platform", "get").mockReturnValue("darwin")
    const tried: (readonly string[])[] = []
    const trial: SandboxTrial = (prefix) => {
      tried.push(prefix({ cwd: home.workdir, stateDirectory: home.workdir, hasTerminal: false }))
      return Promise.resolve(false)
    }
    const chosen = await chooseSandbox({ ...settingsFor(home), mode: "required", trial })
    platform.mockRestore()
    expect(tried[0]?.[2]).toContain("/usr/bin/sandbox-exec -p")
    expect(chosen).toMatchObject({
      error: expect.stringMatching(
        /^commands must run in the sandbox, but sandbox-exec does not work here \(.*No such file/u,
      ),
    })
  },
)
