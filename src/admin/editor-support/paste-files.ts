import { lstatSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"

import { PASTE_TOKEN } from "../../app/input/expand-pastes.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { localStamp } from "../../base/local-stamp.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorCode, explainSystemError } from "../../base/system-error.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { Home } from "../../config/home.ts"
import { writeNumberedFile } from "./numbered-file.ts"

/** Long pasted texts. The draft, the transcript and the history have a token instead, which names the file. */
export interface PasteFiles {
  /** Saves the text and returns its token. The error is a sentence. */
  save(text: string): Result<string>
}

const KEPT_MS = 7 * 24 * 60 * 60 * 1000

/** Saving longer than this is logged: the user waits for it. */
const SLOW_MS = 500

export function createPasteFiles({
  home,
  clock,
  log,
}: {
  readonly home: Home
  readonly clock: Clock
  readonly log?: Logger
}): PasteFiles {
  const directory = home.file("pastes")
  let last = 0
  return {
    save: (text) => {
      const start = clock.now()
      const { time } = localStamp(start)
      try {
        const nameOf = (number: number): string => `paste_${number}_${time}.txt`
        const { path, number } = writeNumberedFile(directory, scrubSurrogates(text), { first: last + 1, nameOf })
        last = number
        const took = clock.now() - start
        if (took > SLOW_MS) log?.warning(`saving a pasted text of ${text.length} characters took ${took} ms`)
        return ok(`[Pasted text #${number}: ${text.split("\n").length} lines → ${path}]`)
      } catch (error) {
        return fail(`The pasted text could not be saved in ${directory}: ${explainSystemError(error)}.`)
      }
    },
  }
}

/** The length of the token that ends at the index; 0 when there is none. */
export function pasteTokenEndingAt(text: string, index: number): number {
  if (text[index - 1] !== "]") return 0
  const start = text.lastIndexOf("[Pasted text #", index)
  const [token] = (start === -1 ? null : ONE_TOKEN.exec(text.slice(start, index))) ?? []
  return token?.length ?? 0
}

/** Removes pasted texts that are older than a week. */
export function removeOldPastes({ home, clock }: { readonly home: Home; readonly clock: Clock }): void {
  const directory = home.file("pastes")
  for (const name of pasteNames(directory)) {
    const path = join(directory, name)
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats?.isFile() === true && clock.now() - stats.mtimeMs > KEPT_MS) rmSync(path, { force: true })
  }
}

function pasteNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter((name) => /^paste_\d+_\d{6}\.txt$/u.test(name))
  } catch (error) {
    if (errorCode(error) === "ENOENT") return []
    throw error
  }
}

const ONE_TOKEN = new RegExp(`^${PASTE_TOKEN.source}$`, "u")
