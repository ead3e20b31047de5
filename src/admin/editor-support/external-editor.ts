import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"

import { makeDirectories } from "../../base/make-directories.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import { runInteractively } from "../../exec/interactive-program.ts"
import { findEditor } from "../settings/edit-config-file.ts"

const MAX_BYTES = 10_000_000

/**
 * Edits a text in the user's editor, which takes over the terminal. Returns the saved text without the newline that editors add at its
 * end. The error is a sentence; the text is then unchanged.
 */
export async function editInExternalEditor(
  text: string,
  { home, environment }: { readonly home: Home; readonly environment: Environment },
): Promise<Result<string>> {
  const editor = findEditor(environment, ["VISUAL", "EDITOR"])
  if (editor === undefined) return fail("No editor was found. Set EDITOR to the one you use, for example EDITOR=nano.")
  let directory: string | undefined
  try {
    // Commands in the sandbox cannot see it: what they write there would be sent in the name of the user.
    makeDirectories(home.file("cache", "drafts"))
    directory = await mkdtemp(home.file("cache", "drafts", "draft-"))
    const path = join(directory, "message.md")
    await writeFile(path, text === "" || text.endsWith("\n") ? text : `${text}\n`, { mode: 0o600, flag: "wx" })
    const code = await runInteractively(editor, path)
    if (code === 127) return fail(`The editor ${editor} was not found. Your draft is unchanged.`)
    if (code !== 0) return fail(`The editor ${editor} exited with code ${code}. Your draft is unchanged.`)
    return ok(
      readRegularFile(path, { maxBytes: MAX_BYTES })
        .bytes.toString("utf8")
        .replace(/\r?\n$/u, ""),
    )
  } catch (error) {
    return fail(`The draft could not be edited: ${explainSystemError(error)}. It is unchanged.`)
  } finally {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true })
  }
}
