import { existsSync } from "node:fs"
import { readFile, rm } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { talk } from "../fixtures/agent/histories.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { repeat, reply, says } from "../support/model-server/turn.ts"
import type { ScriptedCall, Turn } from "../support/model-server/turn.ts"
import type { RunningProcess } from "../support/process-driver.ts"
import { seededRandom } from "../support/seeded-random.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { settingsFor } from "./hermes-process.ts"
import {
  RUNS,
  chainOf,
  checkAnnounced,
  checkResumed,
  forEachSeed,
  orExit,
  pause,
  problemsOf,
  runUntilKilled,
  seedSession,
} from "./killed-session.ts"

const CALLS = 6
const LINES = 4000
const THERE = { "there-2.txt": "there\n", "there-5.txt": "there\n" }

test(
  `${RUNS} conversations killed in a batch of parallel calls lose nothing, repeat nothing, and report the calls in flight`,
  async () => {
    const outcomes = await forEachSeed(killInBatch)
    expect(outcomes.flatMap(({ problems }) => problems)).toEqual([])
    // Some runs must be killed before the first result was stored, and some between two results.
    const inFlight = outcomes.map(({ unknown }) => unknown)
    expect(RUNS < 15 || (inFlight.includes(CALLS) && inFlight.some((calls) => calls > 0 && calls < CALLS))).toBe(true)
  },
  60_000 + RUNS * 6000,
)

async function killInBatch(seed: number): Promise<{ readonly problems: readonly string[]; readonly unknown: number }> {
  const random = seededRandom(seed)
  let begun = false
  const answer = (): Turn => {
    if (begun) return says("All done.")
    begun = true
    return reply({ calls: Array.from({ length: CALLS }, (_, at) => callAt(at)) })
  }
  await using model = await startModelServer([repeat(answer)])
  await using home = await temporaryHome({ config: settingsFor(model), workFiles: THERE })
  const { problems, check } = problemsOf(seed)
  const id = await seedSession(home, talk(2, 20))

  const printed = await runUntilKilled(home, id, (running) => batchInstant(running, random))
  checkAnnounced(printed, await chainOf(home, id), check)
  const files = Array.from({ length: CALLS }, (_, at) => ({ at, path: join(home.workdir, fileAt(at)) }))
  for (const { at, path } of files) {
    if (!existsSync(path)) continue
    check((await readFile(path, "utf8")) === textAt(at), `${path} is half written`)
    await rm(path)
  }

  const unknown = await checkResumed({ home, model, id, check })
  for (const { path } of files) check(!existsSync(path), `${path} was written again`)
  return { problems, unknown }
}

/** Waits until shortly after the start of the batch, or after one of its results. */
async function batchInstant(running: RunningProcess, random: () => number): Promise<void> {
  const results = Math.floor(random() * (CALLS - 1))
  const step = results === 0 ? /"type":"tool\.start"/ : new RegExp(`(?:"type":"tool\\.complete"[^]*){${results}}`)
  await orExit(
    running,
    running.waitForOutput(step).catch(() => undefined),
  )
  await orExit(running, pause(random() * 10))
}

/** Writes separate files, with reads between them, so that all calls may run in parallel. */
function callAt(at: number): ScriptedCall {
  return at % 3 === 2
    ? { id: `call_${at}`, name: "read_file", input: { path: `there-${at}.txt` } }
    : { id: `call_${at}`, name: "write_file", input: { path: fileAt(at), content: textAt(at) } }
}

function fileAt(at: number): string {
  return `file-${at}.txt`
}

function textAt(at: number): string {
  return `file ${at}\n`.repeat(LINES)
}
