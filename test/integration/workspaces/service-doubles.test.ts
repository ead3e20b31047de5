import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, expect, test, vi } from "vitest"

import { systemClock } from "../../../src/base/clock.ts"
import { createLogger } from "../../../src/base/logger.ts"
import { openDaytonaWorkspace } from "../../../src/exec/daytona/daytona-workspace.ts"
import { openModalWorkspace } from "../../../src/exec/modal/modal-workspace.ts"
import { openSingularityWorkspace } from "../../../src/exec/singularity/singularity-workspace.ts"
import type { Workspace } from "../../../src/exec/workspace.ts"
import { createFakeCommand } from "../../support/fake-command.ts"
import type { FakeCommand } from "../../support/fake-command.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import type { TemporaryHome } from "../../support/temporary-home.ts"

// The services themselves are not available in tests. The doubles run commands on this machine, so the transport is tested for real.

const log = createLogger({ sinks: [], redact: (text) => text })
const limits = () => ({ timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 10_000 })

function shared(home: TemporaryHome, double: FakeCommand) {
  return {
    clientEnvironment: {
      ...home.env,
      PATH: `${double.directory}:${home.env["PATH"]}`,
      HERMES_DAYTONA_BINARY: join(double.directory, "daytona"),
      HERMES_MODAL_PYTHON: join(double.directory, "python3"),
      HERMES_SINGULARITY_BINARY: join(double.directory, "apptainer"),
    },
    taskId: "task",
    isPersistent: true,
    cpus: 2,
    memoryMb: 1024,
    startupFiles: [],
    lifetimeSeconds: 300,
    clock: systemClock,
    log,
    signal: new AbortController().signal,
  }
}

/** Exercises what the three services share: commands, state, input, binary files, background commands. */
async function exercise(workspace: Workspace, directory: string): Promise<void> {
  const run = async (command: string, more = {}) =>
    await workspace.run(command, { ...limits(), cwd: directory, ...more }).exit
  expect(await run("echo out; echo err >&2; exit 3")).toEqual({
    how: "exited",
    code: 3,
    output: "out\nerr\n",
    omittedChars: 0,
  })
  expect((await run("cat", { stdin: 'it\'s "quoted" $HOME\n' })).output).toBe('it\'s "quoted" $HOME\n')
  await workspace.run(`cd ${directory}; export A='1 2'`, { ...limits(), keepState: true }).exit
  expect((await workspace.run("pwd; echo $A", { ...limits(), keepState: true }).exit).output).toBe(
    `${directory}\n1 2\n`,
  )
  const bytes = Uint8Array.from({ length: 150_000 }, (_, index) => (index * 7) % 256)
  expect((await workspace.files.write("new/bytes", bytes)).createdDirectories).toBe(true)
  expect(Buffer.from(await workspace.files.read("new/bytes")).equals(Buffer.from(bytes))).toBe(true)
  await expect(workspace.files.read("missing")).rejects.toMatchObject({ code: "ENOENT" })
  expect((await run("sleep 100", { timeoutMs: 500 })).how).toBe("timed-out")
  let output = ""
  const background = await workspace.start("echo one; echo two", {
    pty: false,
    onOutput: (text) => {
      output += text
    },
  })
  expect([await background.exit, output]).toEqual([{ how: "exited", code: 0 }, "one\ntwo\n"])
}

/** The calls that do not run a script. */
function serviceCalls(double: FakeCommand): readonly (readonly string[])[] {
  return double.calls().filter((call) => !call.includes("exec"))
}

test("singularity: the image is built once for all instances", async () => {
  await using home = await temporaryHome()
  const double = createFakeCommand(
    home.workdir,
    "apptainer",
    `case "$1" in
      build) : >"$2" ;;
      instance) [ "$2" != start ] || case " $* " in *" --cpus "*) echo "cgroups are not available" >&2; exit 255 ;; esac ;;
      exec) shift 2; exec "$@" ;;
    esac`,
  )
  const sandboxes = join(home.path, "sandboxes/singularity")
  const options = { ...shared(home, double), image: "docker://debian:12", sandboxes }
  for (let round = 0; round < 2; round += 1) {
    const opened = await openSingularityWorkspace(options)
    if (!opened.ok) throw new Error(opened.error)
    if (round === 0) await exercise(opened.value, home.workdir)
    await opened.value.close()
  }
  const [build = [], ...rest] = serviceCalls(double)
  const image = build[1] ?? ""
  const overlay = ["--overlay", join(sandboxes, "task/overlay")]
  const start = ["instance", "start", "--containall", "--no-home", ...overlay]
  const round = [
    [...start, "--memory", "1024M", "--cpus", "2", image, "hermes-task"],
    [...start, image, "hermes-task"],
    ["instance", "stop", "hermes-task"],
  ]
  expect([build, ...rest]).toEqual([["build", image, "docker://debian:12"], ...round, ...round])
})

test("daytona: a named sandbox is created once and restarted", async () => {
  await using home = await temporaryHome()
  const double = createFakeCommand(
    home.workdir,
    "daytona",
    `case "$1" in
      info) [ -e "$state/made" ] || { echo "sandbox not found" >&2; exit 1; } ;;
      create) : >"$state/made" ;;
      exec) shift 5; exec "$@" </dev/null 2>&1 ;;
    esac`,
  )
  const options = { ...shared(home, double), image: "my-snapshot", diskMb: 51_200 }
  for (const isPersistent of [true, false]) {
    const opened = await openDaytonaWorkspace({ ...options, isPersistent })
    if (!opened.ok) throw new Error(opened.error)
    if (isPersistent) await exercise(opened.value, home.workdir)
    await opened.value.close()
  }
  expect(serviceCalls(double)).toEqual([
    ["info", "hermes-task"],
    [
      "create",
      "--name",
      "hermes-task",
      "--snapshot",
      "my-snapshot",
      "--cpu",
      "2",
      "--memory",
      "1024",
      "--disk",
      "10",
      "--auto-stop",
      "0",
    ],
    ["stop", "hermes-task"],
    ["info", "hermes-task"],
    ["start", "hermes-task"],
    ["delete", "hermes-task"],
  ])
})

test("modal: a snapshot keeps files, and a stale one falls back to the image", async () => {
  await using home = await temporaryHome()
  const double = createFakeCommand(
    home.workdir,
    "python3",
    `shift 2
    case "$1" in
      create) if [ "$3" = im-1 ]; then echo "sb-2 image"; else echo "sb-1 image"; fi ;;
      exec) shift 2; exec "$@" </dev/null ;;
      snapshot) echo im-1 ;;
    esac`,
  )
  const snapshotFile = join(home.path, "modal_snapshots.json")
  const warnings: string[] = []
  const options = {
    ...shared(home, double),
    log: createLogger({ sinks: [{ level: "WARNING", write: (line) => warnings.push(line) }], redact: (text) => text }),
    image: "debian:12",
    snapshotFile,
  }
  for (let round = 0; round < 2; round += 1) {
    const opened = await openModalWorkspace(options)
    if (!opened.ok) throw new Error(opened.error)
    if (round === 0) await exercise(opened.value, home.workdir)
    await opened.value.close()
  }
  expect(serviceCalls(double).map((call) => call.slice(2))).toEqual([
    ["create", "debian:12", "", "2", "1024", "3600"],
    ["snapshot", "sb-1"],
    ["terminate", "sb-1"],
    ["create", "debian:12", "im-1", "2", "1024", "3600"],
    ["snapshot", "sb-2"],
    ["terminate", "sb-2"],
  ])
  expect(JSON.parse(await readFile(snapshotFile, "utf8"))).toEqual({ task: "im-1" })
  expect(warnings.length).toBe(1)
})

test("a missing program or login fails with what to do", async () => {
  await using home = await temporaryHome()
  const none = createFakeCommand(home.workdir, "unrelated", "exit 1")
  const bare = { ...shared(home, none), clientEnvironment: { PATH: none.directory } }
  const denied = createFakeCommand(home.workdir, "daytona", "echo 'Error: unauthorized' >&2; exit 1")
  const token = createFakeCommand(
    home.workdir,
    "python3",
    "echo 'modal.exception.AuthError: Token missing' >&2; exit 1",
  )
  const image = "docker://debian:12"
  const results = [
    await openSingularityWorkspace({ ...bare, image, sandboxes: home.workdir }),
    await openDaytonaWorkspace({ ...bare, image, diskMb: 0 }),
    await openModalWorkspace({ ...bare, image, snapshotFile: join(home.path, "snapshots.json") }),
    await openDaytonaWorkspace({ ...shared(home, denied), image, diskMb: 0 }),
    await openModalWorkspace({ ...shared(home, token), image, snapshotFile: join(home.path, "snapshots.json") }),
  ]
  expect(results.map((result) => (result.ok ? "opened" : result.error))).toEqual([
    "neither apptainer nor singularity is installed; install one, or set terminal.backend to local",
    "the daytona program is not installed; install it, or set terminal.backend to local",
    "the modal backend needs python3; install it",
    "you are not logged in to Daytona; run `daytona login` or set DAYTONA_API_KEY",
    "you are not logged in to Modal; run `modal setup` or set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET",
  ])
})

test("files are uploaded to a sandbox in small parts, and cache files are downloaded", async () => {
  await using home = await temporaryHome()
  await using source = await temporaryHome({ files: { "skills/a/SKILL.md": "1", "skills/large": "x".repeat(200_000) } })
  const double = createFakeCommand(
    home.workdir,
    "daytona",
    `case "$1" in
      exec) shift 5; exec "$@" </dev/null 2>&1 ;;
    esac`,
  )
  const paths = {
    home: source.path,
    directories: ["skills"],
    caches: ["cache/images"],
    files: [],
    provided: [],
    except: [],
    neverDownloaded: ["skills"],
  }
  const sync = { paths, isBorrowed: false, clock: systemClock, log }
  const opened = await openDaytonaWorkspace({ ...shared(home, double), image: "i", diskMb: 0, sync })
  if (!opened.ok) throw new Error(opened.error)
  const command = `cat ~/.hermes/skills/a/SKILL.md; wc -c <~/.hermes/skills/large; echo evil >~/.hermes/skills/a/SKILL.md
mkdir -p ~/.hermes/cache/images; echo drawn >~/.hermes/cache/images/new.png`
  const { output } = await opened.value.run(command, { ...limits(), keepState: true }).exit
  expect(output).toBe("1200000\n")
  await opened.value.close()
  expect(await readFile(join(source.path, "skills/a/SKILL.md"), "utf8")).toBe("1")
  expect(await readFile(join(source.path, "cache/images/new.png"), "utf8")).toBe("drawn\n")
})

afterEach(() => {
  vi.useRealTimers()
})

test("an idle sandbox is stopped, but not while something runs in it, and restarted when it is needed", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
  await using home = await temporaryHome()
  const double = createFakeCommand(
    home.workdir,
    "daytona",
    `case "$1" in
      info | create | start) : >"$state/runs" ;;
      stop) rm "$state/runs" ;;
      exec) [ -e "$state/runs" ] || exit 1; shift 5; exec "$@" </dev/null 2>&1 ;;
    esac`,
  )
  let now = 0
  const clock = { ...systemClock, now: () => now }
  const opened = await openDaytonaWorkspace({ ...shared(home, double), clock, image: "i", diskMb: 0 })
  if (!opened.ok) throw new Error(opened.error)
  const workspace = opened.value
  const background = await workspace.start("while [ ! -e go ]; do sleep 0.05; done", {
    cwd: home.workdir,
    pty: false,
    onOutput: () => undefined,
  })
  now += 301_000
  await vi.advanceTimersByTimeAsync(60_000)
  expect(serviceCalls(double).map(([action]) => action)).toEqual(["info", "start"])
  await workspace.files.write(join(home.workdir, "go"), "")
  await background.exit
  now += 301_000
  await vi.advanceTimersByTimeAsync(60_000)
  await expect.poll(() => serviceCalls(double).map(([action]) => action)).toEqual(["info", "start", "stop"])
  expect((await workspace.run("echo back", limits()).exit).output).toBe("back\n")
  expect(String(await workspace.files.read(join(home.workdir, "go")))).toBe("")
  await workspace.close()
  expect(serviceCalls(double).map(([action]) => action)).toEqual(["info", "start", "stop", "start", "stop"])
})
