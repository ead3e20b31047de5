import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { manualClock } from "../../../test/fixtures/exec/manual-clock.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { systemClock } from "../../base/clock.ts"
import type { Clock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { createLocalWorkspace } from "../local/local-workspace.ts"
import { startTokenOf } from "../process-tree.ts"
import { createProcessRegistry } from "./process-registry.ts"
import type { StartProcess } from "./tracked-process.ts"

const never = new AbortController().signal

async function bench(options: { readonly clock?: Clock } = {}) {
  const home = await temporaryHome()
  const workspace = createLocalWorkspace({ cwd: home.workdir, userHome: home.userHome, environment: home.env })
  const file = join(home.path, "processes.json")
  const lines: string[] = []
  const log = createLogger({ sinks: [{ level: "INFO", write: (line) => lines.push(line) }], redact: (text) => text })
  const open = () =>
    createProcessRegistry({
      clock: options.clock ?? systemClock,
      file,
      log,
      redact: (text) => text.replaceAll("hunter2", "***"),
    })
  const registry = open()
  const wanted = (command: string, more: Partial<StartProcess> = {}): StartProcess => ({
    workspace,
    command,
    pty: false,
    owner: "task",
    notifyOnComplete: false,
    watchPatterns: [],
    ...more,
  })
  return {
    home,
    file,
    lines,
    registry,
    /** Another Hermes on the same home. */
    open,
    begin: async (command: string, more: Partial<StartProcess> = {}) => {
      const started = await registry.start(wanted(command, more))
      if (!started.ok) throw new Error(started.error)
      return started.value
    },
    tryStart: async (command: string, more: Partial<StartProcess> = {}) => await registry.start(wanted(command, more)),
    stored: async (): Promise<readonly unknown[]> => JSON.parse(await readFile(file, "utf8")) as unknown[],
    async [Symbol.asyncDispose]() {
      await registry.close()
      await workspace.close()
      await home[Symbol.asyncDispose]()
    },
  }
}

test("a process is seen running, with its output, and ended, with its code", async () => {
  await using box = await bench()
  const { id, pid } = await box.begin("echo hi; read -r x; echo got-$x; exit 3")
  expect(id).toMatch(/^proc_[0-9a-f]{12}$/)
  expect(box.registry.peek(id)).toMatchObject({ id, pid, isDetached: false, state: { status: "running" } })
  expect(box.registry.write(id, "you\n")).toBe(true)
  expect(await box.registry.wait(id, { timeoutMs: 20_000, signal: never })).toBe("exited")
  expect(box.registry.look(id)).toMatchObject({
    output: "hi\ngot-you\n",
    state: { status: "exited", exitCode: 3, reason: "exited" },
  })
  expect([box.registry.write(id, "x"), box.registry.closeInput(id), await box.registry.kill(id, "me")]).toEqual([
    false,
    false,
    "already_exited",
  ])
})

test("waiting ends by time or interrupt while the process goes on", async () => {
  await using box = await bench()
  const { id } = await box.begin("sleep 300")
  expect(await box.registry.wait(id, { timeoutMs: 20, signal: never })).toBe("timeout")
  expect(await box.registry.wait(id, { timeoutMs: 60_000, signal: AbortSignal.timeout(20) })).toBe("interrupted")
  expect(box.registry.peek(id)?.state).toEqual({ status: "running" })
  expect(await box.registry.kill(id, "me")).toBe("killed")
  expect(box.registry.peek(id)?.state).toEqual({ status: "exited", exitCode: -15, reason: "killed", source: "me" })
})

test("nothing is known of a process that is not there", async () => {
  await using box = await bench()
  const { registry } = box
  expect([
    registry.peek("proc_x"),
    registry.look("proc_x"),
    registry.write("proc_x", ""),
    await registry.wait("proc_x", { timeoutMs: 1, signal: never }),
    await registry.kill("proc_x", "me"),
  ]).toEqual([undefined, undefined, false, "not_found", "not_found"])
})

test("who asked to be told is told exactly once, with the command, the code and the end of the output", async () => {
  await using box = await bench()
  const { id } = await box.begin("echo pass=hunter2; exit 2", { notifyOnComplete: true })
  await box.registry.notices.waitForOne(never)
  expect([
    box.registry.notices.take("somebody else"),
    box.registry.notices.take("task"),
    box.registry.notices.take(),
  ]).toEqual([
    undefined,
    `[IMPORTANT: Background process ${id} completed with exit code 2.\nCommand: echo pass=***; exit 2\nOutput:\npass=***]`,
    undefined,
  ])
})

test.each(["wait", "look", "kill"] as const)("who has learned of the end by %s is not told again", async (how) => {
  await using box = await bench()
  const { id } = await box.begin(how === "kill" ? "sleep 300" : "read -r x", { notifyOnComplete: true })
  if (how === "kill") await box.registry.kill(id, "me")
  else box.registry.closeInput(id)
  if (how === "wait") await box.registry.wait(id, { timeoutMs: 20_000, signal: never })
  if (how === "look") {
    while (box.registry.look(id)?.state.status === "running") await new Promise((resolve) => setTimeout(resolve, 5))
  }
  expect(box.registry.notices.take()).toBeUndefined()
})

test("a process that ended while its notice waits to be taken can still be looked at instead", async () => {
  await using box = await bench()
  const { id } = await box.begin("true", { notifyOnComplete: true })
  await box.registry.notices.waitForOne(never)
  expect(box.registry.peek(id)?.state.status).toBe("exited")
  box.registry.look(id)
  expect(box.registry.notices.take()).toBeUndefined()
})

test("a watched text is reported while it runs; a storm ends watching and promises the end", async () => {
  const clock = manualClock()
  await using box = await bench({ clock })
  const { id } = await box.begin("while read -r line; do echo $line; done", { watchPatterns: ["ready"] })
  const said = async (line: string): Promise<void> => {
    const before = box.registry.peek(id)?.output.length ?? 0
    box.registry.write(id, `${line}\n`)
    while ((box.registry.peek(id)?.output.length ?? 0) < before + line.length + 1) {
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  await said("is ready")
  expect(box.registry.notices.take()).toBe(
    `[IMPORTANT: Background process ${id} matched the watch pattern "ready".\nCommand: while read -r line; do echo $line; done\nMatching output:\nis ready]`,
  )
  for (let window = 0; window < 3; window += 1) {
    await said("ready again")
    await clock.advance(15_000)
    await said("ready")
  }
  const rest: string[] = []
  for (let text = box.registry.notices.take(); text !== undefined; text = box.registry.notices.take()) rest.push(text)
  expect(rest.map((text) => /matched|too often/.exec(text)?.[0])).toEqual(["matched", "matched", "too often"])
  box.registry.closeInput(id)
  await box.registry.notices.waitForOne(never)
  expect(box.registry.notices.take()).toMatch(
    new RegExp(`^\\[IMPORTANT: Background process ${id} completed with exit code`),
  )
})

test("64 may run; a further one is refused, and the oldest that has ended makes room", async () => {
  await using box = await bench()
  const running = await Promise.all(Array.from({ length: 64 }, async () => await box.begin("sleep 300")))
  expect(await box.tryStart("true")).toEqual({
    ok: false,
    error: "64 background processes are running already; end one with the process tool first",
  })
  const first = running[0]?.id ?? ""
  await box.registry.kill(first, "me")
  const { id } = await box.begin("sleep 300")
  expect([box.registry.peek(first), box.registry.list().length, box.registry.peek(id)?.state.status]).toEqual([
    undefined,
    64,
    "running",
  ])
})

test("an ended process is forgotten after half an hour", async () => {
  const clock = manualClock()
  await using box = await bench({ clock })
  const { id } = await box.begin("true", { notifyOnComplete: true })
  await box.registry.notices.waitForOne(never)
  await clock.advance(1_800_000)
  expect(box.registry.list("task").map((view) => view.id)).toEqual([id])
  await clock.advance(1)
  expect([box.registry.list("task"), box.registry.list("other")]).toEqual([[], []])
})

test("only the end of an endless output is kept", async () => {
  await using box = await bench()
  const { id } = await box.begin("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end")
  await box.registry.wait(id, { timeoutMs: 20_000, signal: never })
  const view = box.registry.look(id)
  expect([view?.output.length, view?.isCut, view?.output.endsWith("x\nend\n")]).toEqual([200_000, true, true])
})

test("a command that cannot start is told as such", async () => {
  await using box = await bench()
  expect(await box.tryStart("true", { cwd: "/no/such" })).toEqual({
    ok: false,
    error: "the working directory /no/such cannot be used: no such file or directory",
  })
})

test("after a crash a live process is found again by number and start time; a recycled number is not", async () => {
  await using box = await bench()
  const survivor = spawn("sleep", ["300"], { detached: true, stdio: "ignore" })
  const pid = survivor.pid!
  const entry = (session_id: string, host_start_time: number) => ({
    session_id,
    command: "sleep 300",
    cwd: "/",
    pid,
    host_start_time,
    started_at: 1_700_000_000,
    task_id: "old",
    notify_on_complete: true,
  })
  const start = Number(startTokenOf(pid))
  await writeFile(box.file, JSON.stringify([entry("proc_live", start), entry("proc_recycled", start - 1), "nonsense"]))
  await box.registry.recover()
  expect(box.registry.list("task").map(({ id, isDetached, state }) => ({ id, isDetached, state }))).toEqual([
    { id: "proc_live", isDetached: true, state: { status: "running" } },
    { id: "proc_recycled", isDetached: true, state: { status: "exited", exitCode: undefined, reason: "lost" } },
  ])
  expect(box.registry.notices.take()).toMatch(/^\[IMPORTANT: Background process proc_recycled completed or was lost/)
  expect((await box.stored()).map((stored) => (stored as { session_id: string }).session_id)).toEqual(["proc_live"])
  expect([box.registry.write("proc_live", "x"), await box.registry.kill("proc_live", "me")]).toEqual([false, "killed"])
  expect(
    survivor.signalCode ?? (await new Promise((resolve) => survivor.once("exit", (_, signal) => resolve(signal)))),
  ).toBe("SIGTERM")
  await box.registry.close()
  expect(await box.stored()).toEqual([])
})

test("a process that was found again and then ends is reported as lost", async () => {
  const clock = manualClock()
  await using box = await bench({ clock })
  const survivor = spawn("sleep", ["300"], { detached: true, stdio: "ignore" })
  const entry = {
    session_id: "proc_live",
    command: "sleep 300",
    cwd: "/",
    pid: survivor.pid,
    host_start_time: Number(startTokenOf(survivor.pid!)),
    started_at: 1,
    task_id: "old",
    notify_on_complete: true,
  }
  await writeFile(box.file, JSON.stringify([entry]))
  await box.registry.recover()
  const ended = new Promise((resolve) => survivor.once("exit", resolve))
  survivor.kill("SIGKILL")
  await ended
  await clock.advance(2000)
  expect(box.registry.notices.take("old")).toMatch(/completed or was lost/)
})

test("another Hermes that is alive keeps its processes, and both are in the file", async () => {
  await using box = await bench()
  const { id } = await box.begin("sleep 300")
  const other = box.open()
  await other.recover()
  expect([other.list(), (await box.stored()).length]).toEqual([[], 1])
  await box.registry.kill(id, "me")
  await other.close()
})

test("a file that cannot be used costs only the recovery", async () => {
  await using box = await bench()
  await writeFile(box.file, "{ not json")
  await box.registry.recover()
  expect(box.registry.list()).toEqual([])
  const { id } = await box.begin("sleep 300")
  expect((await box.stored()).length).toBe(1)
  expect(readFileSync(box.file, "utf8")).toContain(id)
})

test("closing kills what it started and leaves no entry", async () => {
  await using box = await bench()
  const { pid } = await box.begin("sleep 300")
  await box.registry.close()
  expect([startTokenOf(pid) === "" || isZombie(pid), await box.stored()]).toEqual([true, []])
})

test(
  "1000 processes started and ended: no descriptor is left, no notice lost or repeated",
  { timeout: 120_000 },
  async () => {
    await using box = await bench()
    const ids = new Set<string>()
    const told = new Map<string, number>()
    const descriptors = (): number => readdirSync("/proc/self/fd").length
    await box.begin("true")
    const before = descriptors()
    const take = async (count: number): Promise<void> => {
      while (told.size < count) {
        await box.registry.notices.waitForOne(never)
        const id = /proc_[0-9a-f]{12}/.exec(box.registry.notices.take() ?? "")?.[0]
        if (id !== undefined) told.set(id, (told.get(id) ?? 0) + 1)
      }
    }
    for (let round = 0; round < 25; round += 1) {
      const started = await Promise.all(
        Array.from({ length: 40 }, async (_, index) => await box.begin(`exit ${index}`, { notifyOnComplete: true })),
      )
      for (const { id } of started) ids.add(id)
      await take(ids.size)
    }
    expect([ids.size, told.size, new Set(told.values()), box.registry.notices.take()]).toEqual([
      1000,
      1000,
      new Set([1]),
      undefined,
    ])
    expect(descriptors() - before).toBeLessThanOrEqual(2)
    await box.registry.close()
    expect(await box.stored()).toEqual([])
  },
)

function isZombie(pid: number): boolean {
  return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
}
