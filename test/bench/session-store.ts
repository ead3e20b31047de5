import type { Measurement, Row, Target, Unit } from "./measurement.ts"
import { measureStore } from "./store.ts"

/** The session database with 100,000 messages. There is no floor: the targets are delays that a user would notice. */
export const sessionStore: Measurement = {
  name: "store",
  slow: true,
  run: async () => Object.entries(await measureStore()).map(([name, ours]) => storeRow(name, ours)),
}

const TARGETS: Readonly<Record<string, Target>> = {
  store_open_ms: { atMost: 50 },
  store_list_last_activity_ms: { atMost: 5 },
  store_list_started_ms: { atMost: 5 },
  store_rare_word_ms: { atMost: 2 },
  store_common_newest_ms: { atMost: 5 },
  store_doctor_ms: { atMost: 500 },
  store_save_during_optimize_worst_ms: { atMost: 500 },
  store_mixed_p95_ms: { atMost: 80 },
  store_append_per_s: { atLeast: 2000 },
}

const UNITS: readonly (readonly [suffix: string, unit: Unit])[] = [
  ["_per_s", "per s"],
  ["_ms", "ms"],
  ["_s", "s"],
]

/** `store_open_ms` becomes "store open" in ms. */
export function storeRow(name: string, ours: number): Row {
  const [suffix, unit] = UNITS.find(([ending]) => name.endsWith(ending)) ?? (["", "count"] as const)
  const target = TARGETS[name]
  return {
    name: name.slice(0, name.length - suffix.length).replaceAll("_", " "),
    unit,
    ours,
    ...(target === undefined ? {} : { target }),
  }
}
