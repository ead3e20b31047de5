/** Precision and recall of the fixes that are shown after errors. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { measureHints } from "../fixtures/knowledge/measure-hints.ts"
import type { Measurement } from "./measurement.ts"

export const learningHints: Measurement = {
  name: "learning-hints",
  run: async () => {
    const directory = mkdtempSync(join(tmpdir(), "hermes-bench-hints-"))
    try {
      const { unrelated, paraphrases, wrong, missed } = await measureHints(join(directory, "learnings.jsonl"))
      const quiet = 1 - wrong.length / unrelated
      const found = 1 - missed.length / paraphrases
      return [
        {
          name: `hints: unrelated errors without one (${unrelated})`,
          unit: "share",
          ours: quiet,
          target: { atLeast: 0.9 },
        },
        {
          name: `hints: other reports with the right one (${paraphrases})`,
          unit: "share",
          ours: found,
          target: { atLeast: 0.7 },
        },
      ]
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  },
}
