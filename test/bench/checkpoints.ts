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

/** A snapshot before a turn, in a project of 10,000 files. The floor only calls `lstat` on the same files. */
export const checkpoints: Measurement = {
  name: "checkpoints",
  slow: true,
  run: async () => {
    const directory = await mkdtemp(join(tmpdir(), "hermes-bench-"))
    try {
      return await measure(directory)
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  },
}

async function measure(directory: string) {
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

function createProject(root: string): void {
  for (let number = 0; number < DIRECTORIES; number += 1) {
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
