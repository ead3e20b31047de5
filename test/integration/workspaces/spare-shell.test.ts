import { readdirSync, readFileSync } from "node:fs"
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { ok } from "../../../src/base/result.ts"
import { createLocalWorkspace } from "../../../src/exec/local/local-workspace.ts"
import { hiddenPlaces } from "../../../src/exec/sandbox/hidden-places.ts"
import { sandboxArguments } from "../../../src/exec/sandbox/sandbox-arguments.ts"
import type { CommandExit, RunOptions, Workspace } from "../../../src/exec/workspace.ts"
import { isAlive } from "../../e2e/process-alive.ts"
import { findBubblewrap } from "../../support/bubblewrap.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import type { TemporaryHome } from "../../support/temporary-home.ts"
import { waitingShells } from "../../support/waiting-shells.ts"

const bubblewrap = await findBubblewrap()
const program = "program" in bubblewrap ? bubblewrap.program : undefined
/** On a busy machine. */
const PATIENCE = { timeout: 10_000 }

interface Place extends AsyncDisposable {
  readonly home: TemporaryHome
  readonly workspace: Workspace
  run(command: string, more?: Partial<RunOptions>): Promise<CommandExit>
  output(command: string, more?: Partial<RunOptions>): Promise<string>
  /** The shell that waits for the next command, once it is there. */
  spare(): Promise<number>
}

async function open(kind: "plain" | "sandboxed"): Promise<Place> {
  const home = await temporaryHome()
  const before = waitingShells(process.pid)
  const root = kind === "plain" ? home.workdir : home.userHome
  const workspace = createLocalWorkspace({
    cwd: root,
    userHome: home.userHome,
    environment: home.env,
    startupFiles: [],
    ...(kind === "sandboxed" && {
      openSandbox: () =>
        Promise.resolve(
          ok(({ cwd, stateDirectory, hasTerminal }) =>
            sandboxArguments({
              program: program ?? "",
              writable: [root, stateDirectory],
              readOnly: [],
              ...hiddenPlaces({ userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path }),
              network: false,
              cwd,
              keepTerminal: hasTerminal,
            }),
          ),
        ),
    }),
  })
  const run = (command: string, more: Partial<RunOptions> = {}): Promise<CommandExit> => {
    const limits = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 20_000 }
    return workspace.run(command, { ...limits, keepState: true, ...more }).exit
  }
  const spares = (): readonly number[] => waitingShells(process.pid).filter((pid) => !before.includes(pid))
  return {
    home,
    workspace,
    run,
    output: async (command, more) => (await run(command, more)).output,
    spare: async () => {
      await expect.poll(() => spares().length, PATIENCE).toBe(1)
      return spares()[0]!
    },
    [Symbol.asyncDispose]: async () => {
      await workspace.close()
      await expect.poll(spares, PATIENCE).toEqual([])
      await home[Symbol.asyncDispose]()
    },
  }
}

const KINDS = program === undefined ? (["plain"] as const) : (["plain", "sandboxed"] as const)

describe.each(KINDS)("the spare shell, %s", (kind) => {
  test("there is none before the first command; it runs the next one and is replaced", async () => {
    await using place = await open(kind)
    expect(waitingShells(process.pid)).toEqual([])
    await place.run("true")
    const first = await place.spare()
    await place.run("true")
    const second = await place.spare()
    expect(second).not.toBe(first)
    expect(isAlive(first)).toBe(false)
  })

  test("the command finds what it would find in a shell of its own", async () => {
    await using place = await open(kind)
    const look = `echo "$0 $- $SECONDS $# $LINENO"; readlink /proc/self/fd/0; ls /proc/self/fd | wc -l; set | grep -c '^__hermes_s'
      pwd; echo "\${LC_ALL-none}"; nosuchcommand; set -x; true`
    const fresh = await place.output(look)
    await place.spare()
    expect(await place.output(look)).toBe(fresh)
    await place.spare()
    expect(await place.output("cat; cd /; echo é日 $PWD", { stdin: "given ü\n" })).toBe("given ü\né日 /\n")
    await place.spare()
    expect(await place.output("pwd; exit 7")).toBe("/\n")
  })

  test("killed from outside, noticed or not, it is replaced by a fresh one, and the command runs once", async () => {
    await using place = await open(kind)
    const count = join(kind === "plain" ? place.home.workdir : place.home.userHome, "count")
    const command = `echo x >>${count}; echo done`
    await place.run("true")
    killTree(await place.spare())
    expect(await place.output(command)).toBe("done\n")
    const second = await place.spare()
    const all = treeOf(second)
    process.kill(second, "SIGKILL")
    // Behind walls the shell itself is further down, and ends a moment later.
    await expect.poll(() => all.some(isAlive), PATIENCE).toBe(false)
    const shown: string[] = []
    const running = place.workspace.run(command, {
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

  test("a command that kills its own shell is not run again", async () => {
    await using place = await open(kind)
    const count = join(kind === "plain" ? place.home.workdir : place.home.userHome, "count")
    await place.run("true")
    await place.spare()
    expect(await place.run(`echo x >>${count}; kill -9 $$`)).toMatchObject({ how: "exited", code: 137, output: "" })
    expect(await readFile(count, "utf8")).toBe("x\n")
  })

  test("commands side by side each have a shell of their own", async () => {
    await using place = await open(kind)
    await place.run("export KEPT=kept")
    await place.spare()
    const outputs = await Promise.all([1, 2, 3, 4].map((number) => place.output(`sleep 0.05; echo ${number} $KEPT`)))
    expect(outputs).toEqual([1, 2, 3, 4].map((number) => `${number} kept\n`))
    await place.spare()
  })

  test("an interrupt at the hand-over is answered, ends the shell, and the next command runs", async () => {
    await using place = await open(kind)
    await place.run("true")
    const spare = await place.spare()
    const stop = new AbortController()
    const running = place.run("sleep 60", { signal: stop.signal })
    // By now the spare has its script: nothing but promises lies between.
    await new Promise((resolve) => setImmediate(resolve))
    stop.abort()
    expect(await running).toMatchObject({ how: "interrupted", code: 130 })
    await expect.poll(() => isAlive(spare), PATIENCE).toBe(false)
    expect(await place.output("echo on")).toBe("on\n")
  })

  test("a time-out takes everything along that the spare has started", async () => {
    await using place = await open(kind)
    await place.run("true")
    await place.spare()
    const mark = `73${Date.now() % 1_000_000}`
    const timedOut = await place.run(`setsid sleep ${mark} & sleep ${mark}`, { timeoutMs: 300 })
    expect(timedOut).toMatchObject({ how: "timed-out", code: 124 })
    expect(await place.output("echo on")).toBe("on\n")
    await place.workspace.close()
    await expect
      .poll(
        () => readdirSync("/proc").filter((name) => /^\d+$/.test(name) && commandLine(name).includes(`sleep\0${mark}`)),
        PATIENCE,
      )
      .toEqual([])
  })

  test("neither spares nor those that were not needed leave a descriptor open", async () => {
    const descriptors = (): number => readdirSync("/proc/self/fd").length
    const once = async (): Promise<void> => {
      await using place = await open(kind)
      for (let round = 0; round < 5; round += 1) await place.run("true")
      process.kill(await place.spare(), "SIGKILL")
      await place.run("true")
      await place.spare()
    }
    await once()
    const before = descriptors()
    for (let round = 0; round < 3; round += 1) await once()
    await expect.poll(descriptors, PATIENCE).toBe(before)
  })
})

describe.skipIf(program === undefined)("the walls of a spare shell", () => {
  test("a secret that appears after they were built is not seen", async () => {
    await using place = await open("sandboxed")
    await place.run("true")
    const spare = await place.spare()
    await writeFile(join(place.home.userHome, ".netrc"), "planted")
    await mkdir(join(place.home.path, "profiles/new"), { recursive: true })
    expect(await place.output("cat ~/.netrc 2>/dev/null; echo over")).toBe("over\n")
    await expect.poll(() => isAlive(spare), PATIENCE).toBe(false)
  })

  test("nor one that was replaced, removed and made again, or written into a directory that was", async () => {
    await using place = await open("sandboxed")
    const at = (name: string): string => join(place.home.userHome, name)
    await writeFile(at(".netrc"), "planted")
    await writeFile(at(".pgpass"), "planted")
    await mkdir(at(".aws"))
    const read = "cat ~/.netrc ~/.pgpass ~/.aws/* 2>/dev/null; echo over"
    expect(await place.output(read)).toBe("over\n")
    await place.spare()
    await writeFile(at("new"), "planted again")
    await rename(at("new"), at(".netrc"))
    expect(await place.output(read)).toBe("over\n")
    await place.spare()
    await rm(at(".pgpass"))
    await writeFile(at(".pgpass"), "planted again")
    expect(await place.output(read)).toBe("over\n")
    await place.spare()
    await rm(at(".aws"), { recursive: true })
    await mkdir(at(".aws"))
    await writeFile(at(".aws/credentials"), "planted again")
    expect(await place.output(read)).toBe("over\n")
  })

  test("a workspace that was made anew is the one that the command works in", async () => {
    await using place = await open("sandboxed")
    const project = join(place.home.userHome, "project")
    await mkdir(project)
    await place.run(`cd ${project}`)
    await place.spare()
    await rm(project, { recursive: true })
    await mkdir(project)
    await place.run("echo x >made")
    expect(await readFile(join(project, "made"), "utf8")).toBe("x\n")
  })
})

/** Innermost first: what lives on for a moment after its parent could still begin. */
function killTree(pid: number): void {
  for (const one of treeOf(pid).toReversed()) process.kill(one, "SIGKILL")
}

/** A process and all below it, each after the one that started it. */
function treeOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ")
  return [pid, ...children.filter((child) => child !== "").flatMap((child) => treeOf(Number(child)))]
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8")
  } catch {
    // It has ended in the meantime.
    return ""
  }
}
