import { fileURLToPath } from "node:url"

import type { FloorDirectories } from "../../policy/file-floor.ts"

/** The directory that Hermes is installed in: the one above its sources or its built files. */
export function ownProgram(): Pick<FloorDirectories, "programRoot"> {
  const root = /^(.+)\/(?:src|dist)\//u.exec(fileURLToPath(import.meta.url))?.[1]
  return root === undefined ? {} : { programRoot: root }
}
