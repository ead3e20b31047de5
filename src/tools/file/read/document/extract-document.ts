import { extname } from "node:path"

import { fail, ok, type Result } from "../../../../base/result.ts"
import { errorMessage } from "../../../../base/system-error.ts"
import type { FileFacts, FileSystem } from "../../../../exec/workspace.ts"

const MAX_DOCUMENT_BYTES = 50 * 1000 * 1000

/** The text of a notebook or an office document; undefined for other files. */
export async function extractDocument(
  path: string,
  facts: FileFacts,
  files: FileSystem,
): Promise<Result<string> | undefined> {
  const read = READERS[extname(path).toLowerCase()]
  if (read === undefined) return undefined
  if (facts.size > MAX_DOCUMENT_BYTES) return fail(`it is larger than ${MAX_DOCUMENT_BYTES / 1_000_000} MB`)
  const bytes = await files.read(path)
  try {
    return ok(await read(bytes))
  } catch (error) {
    return fail(errorMessage(error))
  }
}

const READERS: Readonly<Record<string, (bytes: Uint8Array) => Promise<string>>> = {
  ".ipynb": async (bytes) => (await import("./notebook.ts")).readNotebook(bytes),
  ".docx": async (bytes) => await (await import("./docx.ts")).readDocx(bytes),
  ".xlsx": async (bytes) => await (await import("./xlsx.ts")).readXlsx(bytes),
}
