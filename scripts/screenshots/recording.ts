import { setTimeout as sleep } from "node:timers/promises"

import { callsTool, chunkBytes, says } from "../../test/support/model-server/turn.ts"
import type { Turn, TurnFunction } from "../../test/support/model-server/turn.ts"
import { ANSWER, CHECK_COMMAND, FIX } from "./garden-project.ts"
import { DEFAULT_SIZE, IDLE, NO_SANDBOX } from "./pictures.ts"
import { openStage, SHELL_PROMPT } from "./stage.ts"
import type { Stage } from "./stage.ts"
import type { Frame } from "./svg-recording.ts"
import { svgRecording } from "./svg-recording.ts"

export const RECORDING_NAME = "recording"

const TITLE =
  "A recording: Hermes runs a check, fixes a file and shows the diff, asks before it deletes a directory, and explains the result"
const STEP_MS = 90
const LONGEST_WAIT_MS = 1500
const LAST_FRAME_MS = 5000

export async function recordingSvg(): Promise<string> {
  const size = { ...DEFAULT_SIZE, columns: 92, rows: 28 }
  await using stage = await openStage({ ...size, startsInShell: true, settings: NO_SANDBOX, script: script() })
  await perform(stage)
  const frames = shortened(distinct(await stage.film({ stepMs: STEP_MS })))
  const durationMs = Math.round((frames.at(-1)?.at ?? 0) + LAST_FRAME_MS)
  return svgRecording(frames, { ...size, title: TITLE, durationMs })
}

function script(): readonly TurnFunction[] {
  return [
    after(900, callsTool("terminal", { command: CHECK_COMMAND })),
    after(900, callsTool("patch", FIX)),
    after(900, callsTool("terminal", { command: `${CHECK_COMMAND} && rm -r build` })),
    after(500, says(ANSWER, chunkBytes(600, { delayMs: 25 }))),
  ]
}

/** A model takes its time before it answers. */
function after(milliseconds: number, turn: Turn): TurnFunction {
  return async () => await sleep(milliseconds, turn)
}

async function perform(stage: Stage): Promise<void> {
  await stage.waitFor(SHELL_PROMPT)
  await stage.pause(800)
  await stage.typeSlowly("hermes")
  await stage.pause(300)
  stage.press("enter")
  await stage.waitFor(IDLE)
  await stage.waitFor("What shall we work on?")
  await stage.pause(900)
  await stage.typeSlowly("total fails: fix it, and remove the old build")
  await stage.pause(400)
  stage.press("enter")
  await stage.waitFor("Esc denies")
  await stage.pause(1600)
  for (let presses = 0; presses < 3; presses += 1) {
    stage.press("up")
    await stage.pause(350)
  }
  stage.press("enter")
  await stage.waitFor(/skip such rows[^]*^❯ ?$/mu)
  await stage.pause(300)
}

/** Without frames that look like the one before. */
function distinct(frames: readonly Frame[]): readonly Frame[] {
  const kept: { readonly frame: Frame; readonly text: string }[] = []
  for (const frame of frames) {
    const text = JSON.stringify(frame.screen)
    if (text !== kept.at(-1)?.text) kept.push({ frame, text })
  }
  return kept.map(({ frame }) => frame)
}

/** Starts at zero, and shortens long waits. */
function shortened(frames: readonly Frame[]): readonly Frame[] {
  let at = 0
  return frames.map((frame, index) => {
    const before = frames[index - 1]
    if (before !== undefined) at += Math.min(LONGEST_WAIT_MS, frame.at - before.at)
    return { ...frame, at }
  })
}
