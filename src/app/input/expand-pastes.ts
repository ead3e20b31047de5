import { lstatSync, readFileSync, rmSync } from "node:fs"
import { basename, dirname } from "node:path"

import { errorCode, explainSystemError } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"

/** The token of a long pasted text in a message; it names the file with the text. */
export const PASTE_TOKEN = /\[Pasted text #\d+: \d+ lines → (.+?[\\/]paste_\d+_\d{6}\.txt)\]/gu

/** Replaces the tokens in a message by the pasted texts. Tokens whose file is missing stay, and a sentence is returned for each. */
export function expandPastes(
  message: string,
  home: Home,
): { readonly text: string; readonly warnings: readonly string[] } {
  const warnings: string[] = []
  const text = message.replaceAll(PASTE_TOKEN, (token, path: string) => {
    // Only files of this directory: a token could be typed, or come from a text that was pasted.
    if (dirname(path) !== home.file("pastes")) return token
    try {
      if (!lstatSync(path).isFile()) throw Object.assign(new Error("not a file"), { code: "ENOENT" })
      return readFileSync(path, "utf8")
    } catch (error) {
      const why = errorCode(error) === "ENOENT" ? "it no longer exists" : explainSystemError(error)
      warnings.push(`The pasted text ${basename(path)} was not sent: ${why}. Paste it again.`)
      return token
    }
  })
  return { text, warnings }
}

/** The files with the pasted texts that a message names. */
export function pastesIn(message: string, home: Home): readonly string[] {
  const paths = [...message.matchAll(PASTE_TOKEN)].map(([, path = ""]) => path)
  return paths.filter((path) => dirname(path) === home.file("pastes"))
}

/** Deletes the pasted texts that a message names. They are of no use without the message. */
export function removePastes(message: string, home: Home): void {
  for (const path of pastesIn(message, home)) rmSync(path, { force: true })
}
