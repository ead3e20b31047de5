import { randomHex } from "../base/random-and-hash.ts"
import type { FileSystem, ResultFiles } from "./workspace.ts"

export const RESULT_DIRECTORY = "hermes-results"

/** Never contains text from the model: it must not choose the name of a file outside the workspace. */
export function newResultName(): string {
  return `result-${randomHex(8)}.txt`
}

/** Results in a container or on another machine. Commands there have the same rights as Hermes, so no directory is out of their reach. */
export function createRemoteResults(files: FileSystem): ResultFiles {
  return {
    save: async (text) => {
      const directory = await files.temporaryDirectory?.()
      if (directory === undefined) throw new Error("this workspace has no directory for results")
      const { path } = await files.write(`${directory}/${RESULT_DIRECTORY}/${newResultName()}`, text)
      return path
    },
  }
}
