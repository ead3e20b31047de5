import { lstatSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"

import { systemClock } from "../../src/base/clock.ts"
import { createLogger } from "../../src/base/logger.ts"
import { createCheckpoints } from "../../src/exec/checkpoints/checkpoints.ts"
import { directoryBytes } from "../../src/exec/checkpoints/prune-store.ts"
import { createShadowStore } from "../../src/exec/checkpoints/shadow-store.ts"
import type { Measurement, Row } from "./measurement.ts"
import { median } from "./measurement.ts"

const DIRECTORIES = 500
const FILES_EACH = 20
const SNAPSHOTS = 60
const CHANGED_FILES = 5
const CHANGED_BYTES = 2000

/**
 * A snapshot before a turn, in a project of 10,000 files: the floor only calls `lstat` on the same files. And what the first call of
 * a session waits for, in projects of 1,000 and 50,000 files.
 */
export const checkpoints: Measurement = {
  name: "checkpoints",
  slow: true,
  run: async () => {
    const directory = await mkdtemp(join(tmpdir(), "hermes-bench-"))
    try {
      return [...(await measureSnapshots(directory)), ...(await measureFirstCalls(directory))]
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  },
}

async function measureSnapshots(directory: string): Promise<readonly Row[]> {
  const root = join(directory, "project")
  createProject(root)
  const options = {
    home: join(directory, "home"),
    path: process.env["PATH"] ?? "",
    maxSnapshots: 20,
    maxFileMb: 10,
    clock: systemClock,
  }
  const store = createShadowStore(options)
  const signal = new AbortController().signal
  const timed = async (reason: string): Promise<number> => {
    const started = performance.now()
    await store.snapshot(root, { reason }, signal)
    return performance.now() - started
  }
  const first = await timed("first")
  // Recently written files are read twice, so wait until the files are as old as in a real project.
  await delay(2100)
  await timed("settled")
  const objects = join(options.home, "checkpoints", "store", "objects")
  const before = directoryBytes(objects)
  const [ours, floor]: [number[], number[]] = [[], []]
  for (let round = 0; round < SNAPSHOTS; round += 1) {
    change(root, round)
    ours.push(await timed(`turn ${round}`))
    const started = performance.now()
    statAll(root)
    floor.push(performance.now() - started)
  }
  const grown = (directoryBytes(objects) - before) / SNAPSHOTS
  await store.close()
  return [
    { name: "snapshot of 10,000 files, p95", unit: "ms", ours: p95(ours), floor: p95(floor), target: { atMost: 60 } },
    { name: "snapshot of 10,000 files, median", unit: "ms", ours: median(ours), floor: median(floor) },
    { name: "first snapshot of 10,000 files", unit: "ms", ours: first },
    {
      name: "store growth for each 10,000 changed bytes",
      unit: "bytes",
      ours: grown,
      floor: CHANGED_FILES * CHANGED_BYTES,
      target: { ratio: 1.5 },
    },
  ]
}

const [FEW_FILES, MANY_FILES] = [1000, 50_000]
const ROUNDS = 3

/** Each round is a project that Hermes has never seen, and then one that an earlier process has scanned. */
async function measureFirstCalls(directory: string): Promise<readonly Row[]> {
  const figures: Record<string, number[]> = {}
  const note = (name: string, value: number): void => {
    figures[name] = [...(figures[name] ?? []), value]
  }
  for (const files of [FEW_FILES, MANY_FILES]) {
    const root = join(directory, `project${files}`)
    createProject(root, files / FILES_EACH)
    for (let round = 0; round < ROUNDS; round += 1) {
      const home = join(directory, `home${files}-${round}`)
      const write = await firstCall({ root, home }, ["package0/module0/file0.ts"])
      note(`write ${files}`, write.waited)
      note(`stall ${files}`, write.stalled)
      note(`scan ${files}`, write.finished)
      note(`known write ${files}`, (await firstCall({ root, home }, ["package0/module0/file0.ts"])).waited)
      note(`known command ${files}`, (await firstCall({ root, home }, undefined)).waited)
      note(`prepared command ${files}`, (await firstCall({ root, home }, undefined, { prepared: true })).waited)
    }
  }
  const of = (name: string): number => median(figures[name] ?? [])
  const [few, many] = [of(`write ${FEW_FILES}`), of(`write ${MANY_FILES}`)]
  return [
    { name: "first write, 1,000 files", unit: "ms", ours: few },
    { name: "first write, 50,000 files", unit: "ms", ours: many, target: { atMost: 150 } },
    {
      name: "first write, 50,000 files; the floor has 1,000",
      unit: "ms",
      ours: many,
      floor: few,
      target: { ratio: 3 },
    },
    { name: "first write, 50,000 files that were scanned before", unit: "ms", ours: of(`known write ${MANY_FILES}`) },
    { name: "first scan of 50,000 files, behind the write", unit: "ms", ours: of(`scan ${MANY_FILES}`) },
    { name: "longest stall during that scan", unit: "ms", ours: of(`stall ${MANY_FILES}`), target: { atMost: 100 } },
    {
      name: "first command, 50,000 files that were scanned before",
      unit: "ms",
      ours: of(`known command ${MANY_FILES}`),
    },
    { name: "first command, 50,000 files scanned in advance", unit: "ms", ours: of(`prepared command ${MANY_FILES}`) },
  ]
}

/** The first call of a session: how long it waits, when the snapshot is complete, and how long the event loop is blocked meanwhile. */
async function firstCall(
  { root, home }: { readonly root: string; readonly home: string },
  paths: readonly string[] | undefined,
  { prepared = false } = {},
): Promise<{ readonly waited: number; readonly finished: number; readonly stalled: number }> {
  const { signal } = new AbortController()
  const checkpoints = createCheckpoints({
    home,
    userHome: join(home, "user"),
    initialDirectory: root,
    workdir: () => root,
    sessionId: () => "bench",
    path: process.env["PATH"] ?? "",
    settings: {
      enabled: true,
      maxSnapshots: 20,
      maxTotalMb: 500,
      maxFileMb: 10,
      autoPrune: false,
      retentionDays: 7,
      deleteOrphans: true,
      minIntervalHours: 24,
    },
    clock: systemClock,
    log: createLogger({ sinks: [], redact: (text) => text }),
  })
  if (prepared) await checkpoints.prepare()
  const stalls = watchStalls()
  checkpoints.beginTurn("1")
  const started = performance.now()
  await checkpoints.beforeChange({ ...(paths === undefined ? {} : { paths }), reason: "bench", signal })
  const waited = performance.now() - started
  for (const path of paths ?? []) writeFileSync(join(root, path), String(started))
  await checkpoints.list({ signal })
  const finished = performance.now() - started
  const stalled = stalls.longest()
  await checkpoints.close(signal)
  return { waited, finished, stalled }
}

function watchStalls(): { longest(): number } {
  let [last, longest] = [performance.now(), 0]
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }, 1)
  return {
    longest: () => {
      clearInterval(timer)
      return longest
    },
  }
}

function createProject(root: string, directories = DIRECTORIES): void {
  for (let number = 0; number < directories; number += 1) {
    const directory = join(root, `package${number % 20}`, `module${number}`)
    mkdirSync(directory, { recursive: true })
    for (let file = 0; file < FILES_EACH; file += 1) {
      writeFileSync(join(directory, `file${file}.ts`), `export const value = ${number * file}\n`.repeat(40))
      utimesSync(join(directory, `file${file}.ts`), 1_700_000_000, 1_700_000_000)
    }
  }
}

/** Writes random text, which hardly compresses. */
function change(root: string, round: number): void {
  for (let file = 0; file < CHANGED_FILES; file += 1) {
    const text = Array.from({ length: CHANGED_BYTES }, () =>
      String.fromCharCode(33 + Math.floor(Math.random() * 94)),
    ).join("")
    writeFileSync(join(root, `package${round % 20}`, `module${round % 20}`, `file${file}.ts`), text)
  }
}

function statAll(directory: string): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name)
    if (lstatSync(path).isDirectory()) statAll(path)
  }
}

function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0
}
