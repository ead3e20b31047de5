import { isDeepStrictEqual } from "node:util"

import { splitOpenFile } from "../open-file-prefix.ts"
import { COMMAND_VARIABLE } from "../process-tree.ts"

/** A process that the helper of `spawn-helper.ts` starts. */
export interface HelperRequest {
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
}

/** What the helper is sent about a process. */
export interface HelperMessage {
  /** The variables that differ from process to process. */
  readonly own: Readonly<Record<string, string>>
  /** Everything else. Left out when it is the same as in the message before: the arguments of a sandbox are long and rarely change. */
  readonly common?: {
    readonly commandLine: readonly string[]
    /** A file that the helper opens for the process. */
    readonly openFile: string | undefined
    readonly cwd: string
    readonly environment: Readonly<Record<string, string>>
  }
}

/** Returns a function for the messages to one helper. */
export function createHelperMessages(): (request: HelperRequest) => HelperMessage {
  let last: HelperRequest | undefined
  return ({ program, args, cwd, environment: { [COMMAND_VARIABLE]: command, ...environment } }) => {
    const request = { program, args, cwd, environment }
    const own = command === undefined ? {} : { [COMMAND_VARIABLE]: command }
    if (last !== undefined && isDeepStrictEqual(last, request)) return { own }
    last = request
    return { own, common: { ...splitOpenFile([program, ...args]), cwd, environment } }
  }
}
