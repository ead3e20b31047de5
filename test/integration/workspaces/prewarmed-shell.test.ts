import { readdirSync, readFileSync } from "node:fs"
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { ok } from "../../../src/base/result.ts"
import { errorCode } from "../../../src/base/system-error.ts"
import { createLocalMachine } from "../../../src/exec/local/local-machine.ts"
import type { LocalMachine } from "../../../src/exec/local/local-machine.ts"
import { createLocalWorkspace } from "../../../src/exec/local/local-workspace.ts"
import { hiddenPaths } from "../../../src/exec/sandbox/hidden-paths.ts"
import { sandboxArguments } from "../../../src/exec/sandbox/sandbox-arguments.ts"
import type { CommandExit, RunCommandOptions, Workspace } from "../../../src/exec/workspace.ts"
import { expectExited, isAlive } from "../../e2e/process-alive.ts"
import { findBubblewrap } from "../../support/bubblewrap.ts"
import { prewarmedShells } from "../../support/prewarmed-shells.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import type { TemporaryHome } from "../../support/temporary-home.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

const bubblewrap = await findBubblewrap()
const program = "program" in bubblewrap ? bubblewrap.program : undefined
/** Allows for a busy machine. */
const POLL = { timeout: 10_000 }

interface TestWorkspace extends AsyncDisposable {
  readonly home: TemporaryHome
  readonly workspace: Workspace
  run(command: string, more?: Partial<RunCommandOptions>): Promise<CommandExit>
  output(command: string, more?: Partial<RunCommandOptions>): Promise<string>
  /** Process id of the prewarmed shell, once it is ready. */
  prewarmed(): Promise<number>
}

async function open(kind: "plain" | "sandboxed", starter: Starter = "Hermes"): Promise<TestWorkspace> {
  const home = await temporaryHome()
  const machine = createLocalMachine({ worthwhileBytes: starter === "Hermes" ? Number.MAX_SAFE_INTEGER : 0 })
  if (starter === "the helper") await waitForHelper(machine)
  const before = prewarmedShells(process.pid)
  const root = kind === "plain" ? home.workdir : home.userHome
  const workspace = createLocalWorkspace({
    cwd: root,
    userHome: home.userHome,
    environment: home.env,
    machine,
    startupFiles: [],
    ...(kind === "sandboxed" && {
      openSandbox: () =>
        Promise.resolve(
          ok(({ cwd, stateDirectory, hasTerminal }) =>
            sandboxArguments({
              program: program ?? "",
              writable: [root, stateDirectory],
              readOnly: [],
              ...hiddenPaths({ userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path }),
              network: false,
              cwd,
              keepTerminal: hasTerminal,
            }),
          ),
        ),
    }),
  })
  const run = (command: string, more: Partial<RunCommandOptions> = {}): Promise<CommandExit> => {
    const limits = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 20_000 }
    return workspace.run(command, { ...limits, keepState: true, ...more }).exit
  }
  const shells = (): readonly number[] => prewarmedShells(process.pid).filter((pid) => !before.includes(pid))
  return {
    home,
    workspace,
    run,
    output: async (command, more) => (await run(command, more)).output,
    prewarmed: async () => {
      let found: readonly number[] = []
      await expect.poll(() => (found = shells()).length, POLL).toBe(1)
      return found[0]!
    },
    [Symbol.asyncDispose]: async () => {
      await workspace.close()
      machine.dispose()
      await expect.poll(shells, POLL).toEqual([])
      await home[Symbol.asyncDispose]()
    },
  }
}

async function waitForHelper(machine: LocalMachine): Promise<void> {
  const preparations = await machine.loadPreparations()
  await preparations?.pipes.prepare()
  const start = () => preparations?.startInHelper({ program: "/bin/true", args: [], cwd: "/", environment: {} })
  await expect.poll(start, POLL).toBeDefined()
}

const KINDS = program === undefined ? (["plain"] as const) : (["plain", "sandboxed"] as const)
const STARTERS = ["Hermes", "the helper"] as const
type Starter = (typeof STARTERS)[number]

describe.each(KINDS.flatMap((kind) => STARTERS.map((starter) => [kind, starter] as const)))(
  "the prewarmed shell, %s, started by %s",
  (kind, starter) => {
    test("is not started before the first command, runs the next one and is replaced", async () => {
      await using opened = await open(kind, starter)
      expect(prewarmedShells(process.pid)).toEqual([])
      await opened.run("true")
      const first = await opened.prewarmed()
      await opened.run("true")
      const second = await opened.prewarmed()
      expect(second).not.toBe(first)
      await expectExited(first)
    })

    test("provides the command with the same environment as a new shell", async () => {
      await using opened = await open(kind, starter)
      const inspect = `echo "$0 $- $((SECONDS > 1)) $# $LINENO"; readlink /proc/self/fd/0; ls /proc/self/fd | wc -l; set | grep -c '^__hermes_s'
      pwd; echo "\${LC_ALL-none}"; nosuchcommand; set -x; true`
      const fresh = await opened.output(inspect)
      await opened.prewarmed()
      expect(await opened.output(inspect)).toBe(fresh)
      await opened.prewarmed()
      expect(await opened.output("cat; cd /; echo é日 $PWD", { stdin: "given ü\n" })).toBe("given ü\né日 /\n")
      await opened.prewarmed()
      expect(await opened.output("pwd; exit 7")).toBe("/\n")
    })

    test("is replaced by a new shell when it was killed, and the command runs once", async () => {
      await using opened = await open(kind, starter)
      const count = join(kind === "plain" ? opened.home.workdir : opened.home.userHome, "count")
      const command = `echo x >>${count}; echo done`
      await opened.run("true")
      killTree(await opened.prewarmed())
      expect(await opened.output(command)).toBe("done\n")
      const second = await opened.prewarmed()
      const all = treeOf(second)
      process.kill(second, "SIGKILL")
      // In the sandbox the shell is a descendant and exits a little later.
      await expect.poll(() => all.some(isAlive), POLL).toBe(false)
      const shown: string[] = []
      const running = opened.workspace.run(command, {
        timeoutMs: 20_000,
        signal: new AbortController().signal,
        keepChars: 100,
        keepState: true,
      })
      for await (const text of running.output) shown.push(text)
      expect([await running.exit, shown.join("")]).toEqual([
        { how: "exited", code: 0, output: "done\n", omittedChars: 0 },
        "done\n",
      ])
      expect(await readFile(count, "utf8")).toBe("x\nx\n")
    })

    test("a command that kills its own shell is not retried", async () => {
      await using opened = await open(kind, starter)
      const count = join(kind === "plain" ? opened.home.workdir : opened.home.userHome, "count")
      await opened.run("true")
      await opened.prewarmed()
      expect(await opened.run(`echo x >>${count}; kill -9 $$`)).toMatchObject({ how: "exited", code: 137, output: "" })
      expect(await readFile(count, "utf8")).toBe("x\n")
    })

    test("concurrent commands each have their own shell", async () => {
      await using opened = await open(kind, starter)
      await opened.run("export KEPT=kept")
      await opened.prewarmed()
      const outputs = await Promise.all([1, 2, 3, 4].map((number) => opened.output(`sleep 0.05; echo ${number} $KEPT`)))
      expect(outputs).toEqual([1, 2, 3, 4].map((number) => `${number} kept\n`))
      await opened.prewarmed()
    })

    test("an interrupt right after the start kills the shell, and the next command runs", async () => {
      await using opened = await open(kind, starter)
      await opened.run("true")
      const shell = await opened.prewarmed()
      const stop = new AbortController()
      const running = opened.run("sleep 60", { signal: stop.signal })
      // By now the shell has received its script: only promises were pending.
      await new Promise((resolve) => setImmediate(resolve))
      stop.abort()
      expect(await running).toMatchObject({ how: "interrupted", code: 130 })
      await expectExited(shell)
      expect(await opened.output("echo on")).toBe("on\n")
    })

    test("a timeout kills everything that the shell has started", async () => {
      await using opened = await open(kind, starter)
      await opened.run("true")
      await opened.prewarmed()
      const mark = `73${Date.now() % 1_000_000}`
      const timedOut = await opened.run(`setsid sleep ${mark} & sleep ${mark}`, { timeoutMs: 300 })
      expect(timedOut).toMatchObject({ how: "timed-out", code: 124 })
      expect(await opened.output("echo on")).toBe("on\n")
      await opened.workspace.close()
      await expect
        .poll(
          () =>
            readdirSync("/proc").filter((name) => /^\d+$/.test(name) && commandLine(name).includes(`sleep\0${mark}`)),
          POLL,
        )
        .toEqual([])
    })

    test("used and unused shells leave no descriptor open", async () => {
      const descriptors = (): number => readdirSync("/proc/self/fd").length
      const once = async (): Promise<void> => {
        await using opened = await open(kind, starter)
        for (let round = 0; round < 5; round += 1) await opened.run("true")
        process.kill(await opened.prewarmed(), "SIGKILL")
        await opened.run("true")
        await opened.prewarmed()
      }
      await once()
      const before = descriptors()
      for (let round = 0; round < 3; round += 1) await once()
      await expect.poll(descriptors, POLL).toBe(before)
    })
  },
)

const noSandbox = "missing" in bubblewrap ? bubblewrap.missing : undefined

describe.skipIf(noSandbox !== undefined)(titleWithReason("the sandbox of a prewarmed shell", noSandbox), () => {
  test("hides a secret that is created after the shell was started", async () => {
    await using opened = await open("sandboxed")
    await opened.run("true")
    const shell = await opened.prewarmed()
    await writeFile(join(opened.home.userHome, ".netrc"), "planted")
    await mkdir(join(opened.home.path, "profiles/new"), { recursive: true })
    expect(await opened.output("cat ~/.netrc 2>/dev/null; echo over")).toBe("over\n")
    await expectExited(shell)
  })

  test("hides a secret that was replaced or recreated, even in a recreated directory", async () => {
    await using opened = await open("sandboxed")
    const at = (name: string): string => join(opened.home.userHome, name)
    await writeFile(at(".netrc"), "planted")
    await writeFile(at(".pgpass"), "planted")
    await mkdir(at(".aws"))
    const read = "cat ~/.netrc ~/.pgpass ~/.aws/* 2>/dev/null; echo over"
    expect(await opened.output(read)).toBe("over\n")
    await opened.prewarmed()
    await writeFile(at("new"), "planted again")
    await rename(at("new"), at(".netrc"))
    expect(await opened.output(read)).toBe("over\n")
    await opened.prewarmed()
    await rm(at(".pgpass"))
    await writeFile(at(".pgpass"), "planted again")
    expect(await opened.output(read)).toBe("over\n")
    await opened.prewarmed()
    await rm(at(".aws"), { recursive: true })
    await mkdir(at(".aws"))
    await writeFile(at(".aws/credentials"), "planted again")
    expect(await opened.output(read)).toBe("over\n")
  })

  test("uses a recreated workspace directory", async () => {
    await using opened = await open("sandboxed")
    const project = join(opened.home.userHome, "project")
    await mkdir(project)
    await opened.run(`cd ${project}`)
    await opened.prewarmed()
    await rm(project, { recursive: true })
    await mkdir(project)
    await opened.run("echo x >made")
    expect(await readFile(join(project, "made"), "utf8")).toBe("x\n")
  })
})

/** Innermost first: a process that outlives its parent for a moment could still start the command. */
function killTree(pid: number): void {
  for (const one of treeOf(pid).toReversed()) {
    try {
      process.kill(one, "SIGKILL")
    } catch (error) {
      // It ended with its child.
      if (errorCode(error) !== "ESRCH") throw error
    }
  }
}

/** A process and its descendants, parents before children. */
function treeOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ")
  return [pid, ...children.filter((child) => child !== "").flatMap((child) => treeOf(Number(child)))]
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8")
  } catch {
    // It has exited meanwhile.
    return ""
  }
}
