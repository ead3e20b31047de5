import { lstatSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"

import { systemClock } from "../../src/base/clock.ts"
import { directoryBytes } from "../../src/exec/checkpoints/prune-store.ts"
import { createShadowStore } from "../../src/exec/checkpoints/shadow-store.ts"
import type { Measurement } from "./measurement.ts"
import { median } from "./measurement.ts"

const DIRECTORIES = 500
const FILES_EACH = 20
const SNAPSHOTS = 60
const CHANGED_FILES = 5
const CHANGED_BYTES = 2000

/** A snapshot before a turn, in a project of 10,000 files. The floor asks the file system about the same files and does no more. */
export const checkpoints: Measurement = {
  name: "checkpoints",
  slow: true,
  run: async () => {
    const place = await mkdtemp(join(tmpdir(), "hermes-bench-"))
    try {
      return await measure(place)
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
  },
}

async function measure(place: string) {
  const root = join(place, "project")
  makeProject(root)
  const options = {
    home: join(place, "home"),
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
  // Files that were written a moment ago are read twice; a project is not that young.
  await delay(2100)
  await timed("settled")
  const objects = join(options.home, "checkpoints", "store", "objects")
  const before = directoryBytes(objects)
  const [ours, floor]: [number[], number[]] = [[], []]
  for (let round = 0; round < SNAPSHOTS; round += 1) {
    change(root, round)
    ours.push(await timed(`turn ${round}`))
    const started = performance.now()
    look(root)
    floor.push(performance.now() - started)
  }
  const grown = (directoryBytes(objects) - before) / SNAPSHOTS
  store.close()
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
  ] as const
}

function makeProject(root: string): void {
  for (let directory = 0; directory < DIRECTORIES; directory += 1) {
    const folder = join(root, `package${directory % 20}`, `module${directory}`)
    mkdirSync(folder, { recursive: true })
    for (let file = 0; file < FILES_EACH; file += 1) {
      writeFileSync(join(folder, `file${file}.ts`), `export const value = ${directory * file}\n`.repeat(40))
      utimesSync(join(folder, `file${file}.ts`), 1_700_000_000, 1_700_000_000)
    }
  }
}

/** Text that no compression makes small. */
function change(root: string, round: number): void {
  for (let file = 0; file < CHANGED_FILES; file += 1) {
    const text = Array.from({ length: CHANGED_BYTES }, () =>
      String.fromCharCode(33 + Math.floor(Math.random() * 94)),
    ).join("")
    writeFileSync(join(root, `package${round % 20}`, `module${round % 20}`, `file${file}.ts`), text)
  }
}

function look(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (lstatSync(path).isDirectory()) look(path)
  }
}

function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0
}
