import { spawn } from "node:child_process"
import { once } from "node:events"
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setImmediate as nextTick } from "node:timers/promises"

import { expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import { createLogger } from "../../src/base/logger.ts"
import { createCheckpoints } from "../../src/exec/checkpoints/checkpoints.ts"
import type { Checkpoints } from "../../src/exec/checkpoints/checkpoints.ts"
import { directoryContents } from "../support/directory-contents.ts"
import { fc } from "../support/property.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"

const signal = new AbortController().signal

/** Without patience, a call that names its files never waits for the scan. */
function open(home: TemporaryHome): Checkpoints {
  return createCheckpoints({
    home: home.path,
    userHome: home.userHome,
    initialDirectory: home.workdir,
    workdir: () => home.workdir,
    sessionId: () => "session",
    path: process.env["PATH"] ?? "",
    settings: {
      enabled: true,
      maxSnapshots: 100,
      maxTotalMb: 500,
      maxFileMb: 10,
      autoPrune: false,
      retentionDays: 7,
      deleteOrphans: true,
      minIntervalHours: 24,
    },
    clock: systemClock,
    log: createLogger({ sinks: [], redact: (text) => text }),
    patienceMs: 0,
  })
}

/** Enough files for several slices of the scan, before and after the ones that change. */
const FILLER = Object.fromEntries(
  Array.from({ length: 300 }, (_, index) => [`${"amz"[index % 3]}/filler${index}`, `${index}`.repeat(50)]),
)
/** Only tools and commands change these. */
const OWN = ["a/first", "m/tool", "m/new/deep/file", "m/other", "z/last"]
/** The user and background commands change these at any time, also while the scan runs. */
const SHARED = ["a/shared", "m/shared", "z/shared"]

const action = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("write" as const), name: fc.constantFrom(...OWN, ...SHARED) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), name: fc.constantFrom(...OWN) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("command" as const), name: fc.constantFrom(...OWN) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("user" as const), name: fc.constantFrom(...SHARED) }) },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never
const turn = fc.record({
  actions: fc.array(action, { minLength: 1, maxLength: 5 }),
  /** Edits by a background command during the turn: the file, and how many ticks of the event loop later. */
  background: fc.array(fc.tuple(fc.constantFrom(...SHARED), fc.nat(40)), { maxLength: 4 }),
})

type Content = string | undefined

/** The files of a workspace, and which contents a snapshot of the running turn may have of each. */
class Model {
  readonly #root: string
  #version = 0
  /** What snapshots of the turn may contain: the state at its first change, and what others made of it until the snapshot was complete. */
  allowed = new Map<string, Set<Content>>()
  readonly #decided = new Set<string>()

  constructor(root: string) {
    this.#root = root
  }

  content(name: string): Content {
    const path = join(this.#root, name)
    return existsSync(path) ? readFileSync(path, "utf8") : undefined
  }

  contents(): Record<string, Content> {
    return Object.fromEntries([...OWN, ...SHARED].map((name) => [name, this.content(name)]))
  }

  beginTurn(): void {
    this.allowed = new Map(Object.entries(this.contents()).map(([name, content]) => [name, new Set([content])]))
    this.#decided.clear()
  }

  /** The turn's own first change of a file: its snapshot has what was there before. */
  decide(name: string, before: ReadonlySet<Content>): void {
    if (this.#decided.has(name)) return
    this.#decided.add(name)
    this.allowed.set(name, new Set(before))
  }

  change(name: string, by: string): void {
    const path = join(this.#root, name)
    mkdirSync(dirname(path), { recursive: true })
    this.#version += 1
    if (by === "delete") rmSync(path, { force: true })
    else if (by === "append") appendFileSync(path, `+${this.#version}`)
    else writeFileSync(path, `${by} ${this.#version}`)
  }

  changeByOthers(name: string): void {
    this.change(name, "others")
    if (!this.#decided.has(name)) this.allowed.get(name)?.add(this.content(name))
  }
}

async function perform(step: Action, model: Model, checkpoints: Checkpoints): Promise<void> {
  if (step.kind === "user") {
    model.changeByOthers(step.name)
    return
  }
  const isCommand = step.kind === "command"
  const problems = await checkpoints.beforeChange({
    ...(isCommand ? {} : { paths: [step.name] }),
    reason: step.kind,
    signal,
  })
  expect(problems).toEqual([])
  // Until now, others may have changed the file after it was saved.
  model.decide(step.name, model.allowed.get(step.name) ?? new Set())
  model.change(step.name, isCommand ? "append" : step.kind)
}

async function runInBackground(edits: readonly (readonly [string, number])[], model: Model): Promise<void> {
  for (const [name, ticks] of edits) {
    for (let tick = 0; tick < ticks; tick += 1) await nextTick()
    model.changeByOthers(name)
  }
}

test("a snapshot that is completed behind the calls of its turn has the state before them", async () => {
  const turns = fc.array(turn, { minLength: 2, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(turns, fc.infiniteStream(fc.nat()), async (steps, choices) => {
      const files = Object.fromEntries([...OWN, ...SHARED].map((name) => [name, `initial ${name}`]))
      await using home = await temporaryHome({ workFiles: { ...FILLER, ...files, "package.json": "{}" } })
      const checkpoints = open(home)
      const model = new Model(home.workdir)
      const allowed: ReadonlyMap<string, ReadonlySet<Content>>[] = []
      for (const [index, { actions, background }] of steps.entries()) {
        checkpoints.beginTurn(String(index))
        model.beginTurn()
        const edits = runInBackground(background, model)
        for (const step of actions) await perform(step, model, checkpoints)
        await edits
        if (index % 2 === 0) await checkpoints.list({ signal })
        allowed.push(model.allowed)
      }
      for (let round = 0; round < 3; round += 1) {
        const snapshots = await checkpoints.list({ signal })
        expect(snapshots.filter((snapshot) => snapshot.files !== undefined)).toEqual([])
        const chosen = snapshots[(choices.next().value ?? 0) % Math.max(1, snapshots.length)]
        if (chosen === undefined) return
        const before = model.contents()
        const restored = await checkpoints.restore(chosen.hash, { signal })
        if (!restored.ok) throw new Error(restored.error)
        expect(restored.value.notRestored).toEqual([])
        for (const [name, contents] of allowed[Number(chosen.turn ?? -1)] ?? [])
          expect([...contents], name).toContain(model.content(name))
        const undone = await checkpoints.restore(restored.value.undoHash, { signal })
        expect(undone.ok && undone.value.notRestored).toEqual([])
        expect(model.contents()).toEqual(before)
      }
      await checkpoints.close(signal)
    }),
    {
      numRuns: Number(process.env["CHECKPOINT_RUNS"] ?? 10),
      interruptAfterTimeLimit: 100_000,
      markInterruptAsFailure: true,
    },
  )
}, 120_000)

test("a process that is killed at any instant leaves a snapshot of everything that it changed", async () => {
  const names = ["a/first", "m/new-file", "m/filler1", "z/last", "z/filler2"]
  const runs = Number(process.env["CHECKPOINT_KILLS"] ?? 12)
  let changedRuns = 0
  for (let run = 0; run < runs; run += 1) {
    await using home = await temporaryHome({
      workFiles: { ...FILLER, "a/first": "1", "z/last": "2", "package.json": "{}" },
    })
    const initial = directoryContents(home.workdir)
    const child = spawn(process.execPath, [SCRIPT, home.path, home.userHome, home.workdir, ...names], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    const exit = once(child, "exit")
    // After so many lines of output, and a while later.
    const lines = run % (names.length + 3)
    let output = ""
    for await (const chunk of child.stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      output += chunk.toString()
      if (output.split("\n").length > lines) break
    }
    for (let tick = 0; tick < run * 100; tick += 1) await nextTick()
    child.kill("SIGKILL")
    await exit
    const changed = directoryContents(home.workdir)
    if (JSON.stringify(changed) === JSON.stringify(initial)) continue
    changedRuns += 1
    const checkpoints = open(home)
    const snapshots = await checkpoints.list({ signal })
    expect(snapshots.length).toBeGreaterThan(0)
    for (const { hash } of snapshots) {
      const restored = await checkpoints.restore(hash, { signal })
      if (!restored.ok) throw new Error(restored.error)
      expect(directoryContents(home.workdir)).toEqual(initial)
      await checkpoints.restore(restored.value.undoHash, { signal })
      expect(directoryContents(home.workdir)).toEqual(changed)
    }
    await checkpoints.close(signal)
  }
  expect(changedRuns).toBeGreaterThan(0)
}, 120_000)

const SCRIPT = join(import.meta.dirname, "..", "fixtures", "checkpoints", "write-files.ts")
