import { chmod, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test, vi } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../../test/support/temporary-home.ts"
import type * as FindProgram from "../../base/find-program.ts"
import { fail, ok } from "../../base/result.ts"
import type { SandboxTrial } from "../local/local-shell-state.ts"
import { createLocalWorkspace } from "../local/local-workspace.ts"
import { chooseSandbox } from "./sandbox.ts"
import { NOT_LINUX, titleWithReason } from "../../../test/support/skip-reason.ts"

/** The real search accepts only programs that an administrator installed, and the fake is in a temporary directory. */
vi.mock("../../base/find-program.ts", async (importOriginal) => {
  const original = await importOriginal<typeof FindProgram>()
  return { ...original, findTrustedProgram: original.findProgram }
})

/** Installs a fake bubblewrap that counts its starts and then runs `script`. */
async function fakeBubblewrap(home: TemporaryHome, script: string): Promise<{ starts(): Promise<number> }> {
  const log = join(home.userHome, "starts")
  const program = join(home.userHome, "bwrap")
  await writeFile(log, "")
  await writeFile(program, `#!/bin/sh\necho >>${log}\n${script}\n`)
  await chmod(program, 0o755)
  return { starts: async () => (await readFile(log, "utf8")).length }
}

const WORKS = `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`

function settingsFor(home: TemporaryHome, trial?: SandboxTrial) {
  const homes = { userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path }
  const rest = { network: true, writable: [], homes, path: home.userHome, signal: new AbortController().signal }
  return { mode: "auto", trial, ...rest } as const
}

test.skipIf(NOT_LINUX !== undefined)(
  titleWithReason("a successful trial replaces the probe; a failed or missing trial does not", NOT_LINUX),
  async () => {
    await using home = await temporaryHome()
    const bubblewrap = await fakeBubblewrap(home, WORKS)
    const seen: (string | undefined)[] = []
    const trial: SandboxTrial = (prefix) => {
      seen.push(
        prefix({ cwd: "/", stateDirectory: "/tmp", hasTerminal: false }).find((word) => word.endsWith("/bwrap")),
      )
      return Promise.resolve(true)
    }
    expect(await chooseSandbox(settingsFor(home, trial))).toMatchObject({ ok: true, value: { kind: "on" } })
    expect([seen, await bubblewrap.starts()]).toEqual([[join(home.userHome, "bwrap")], 0])
    expect(await chooseSandbox(settingsFor(home))).toMatchObject({ ok: true, value: { kind: "on" } })
    expect(await bubblewrap.starts()).toBe(1)
    const failing = settingsFor(home, () => Promise.resolve(false))
    expect(await chooseSandbox(failing)).toMatchObject({ ok: true, value: { kind: "on" } })
    expect(await bubblewrap.starts()).toBe(2)
  },
)

test.skipIf(NOT_LINUX !== undefined)(
  titleWithReason("with the network disabled, an unavailable sandbox is an error", NOT_LINUX),
  async () => {
    await using home = await temporaryHome()
    const settings = { ...settingsFor(home), network: false }
    const why = "terminal.sandbox_network is false, which needs the sandbox, but "
    expect(await chooseSandbox(settings)).toEqual(
      fail(
        `${why}bubblewrap is not installed; install the package bubblewrap, or set terminal.sandbox_network to true`,
      ),
    )
    await fakeBubblewrap(home, "echo no namespaces >&2; exit 1")
    expect(await chooseSandbox(settings)).toEqual(
      fail(
        `${why}bubblewrap does not work here (no namespaces); allow user namespaces, or set terminal.sandbox_network to true`,
      ),
    )
    expect(await chooseSandbox({ ...settings, network: true })).toMatchObject({ value: { kind: "unavailable" } })
    expect(await chooseSandbox({ ...settings, mode: "off" })).toEqual(ok({ kind: "off" }))
  },
)

test.skipIf(NOT_LINUX !== undefined).each([
  ["works", WORKS, 0],
  ["does not work", "exit 1", 1],
])(titleWithReason("start-up files are sourced once when bubblewrap %s", NOT_LINUX), async (_, script, failures) => {
  await using home = await temporaryHome()
  await fakeBubblewrap(home, script)
  const startup = join(home.userHome, "startup")
  await writeFile(startup, `echo >>${home.userHome}/sourced\ngreet() { echo hello; }\n`)
  let refusals = 0
  const workspace = createLocalWorkspace({
    cwd: home.workdir,
    userHome: home.userHome,
    environment: home.env,
    startupFiles: [startup],
    openSandbox: async ({ trial }) => {
      const chosen = await chooseSandbox(settingsFor(home, trial))
      if (!chosen.ok) return fail(chosen.error)
      refusals += chosen.value.kind === "unavailable" ? 1 : 0
      return ok(chosen.value.kind === "on" ? chosen.value.prefix : undefined)
    },
  })
  const limits = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 1000, keepState: true }
  expect((await workspace.run("greet", limits).exit).output).toBe("hello\n")
  expect((await workspace.run("greet", limits).exit).output).toBe("hello\n")
  expect([await readFile(join(home.userHome, "sourced"), "utf8"), refusals]).toEqual(["\n", failures])
  await workspace.close()
})

test("a sandbox that cannot be built for a command refuses it with the reason", async () => {
  await using home = await temporaryHome()
  const workspace = createLocalWorkspace({
    cwd: home.workdir,
    userHome: home.userHome,
    environment: home.env,
    startupFiles: [],
    openSandbox: () =>
      Promise.resolve(
        ok(() => {
          throw new Error("a program on the PATH can be replaced")
        }),
      ),
  })
  for (const keepState of [true, false]) {
    const limits = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 1000, keepState }
    expect(await workspace.run("echo ran", limits).exit).toMatchObject({
      how: "failed-to-start",
      output: "",
      error: "a program on the PATH can be replaced",
    })
  }
  await workspace.close()
})
