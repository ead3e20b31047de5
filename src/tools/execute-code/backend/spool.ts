import { posix } from "node:path"

import { parseJson } from "../../../base/json.ts"
import { errorMessage } from "../../../base/system-error.ts"
import type { Workspace } from "../../../exec/workspace.ts"
import { boundedLine, hasToken, MAX_LINE_BYTES, readRequest } from "../rpc.ts"
import type { RpcServer } from "../rpc.ts"

interface SpoolOptions extends RpcServer {
  readonly workspace: Pick<Workspace, "run" | "files">
  /** Aborts when the script has ended. */
  readonly signal: AbortSignal
}

const WAIT_SECONDS = 5
const POLL_MS = 30_000

/** Answers calls that arrive as files `req_000001` in a directory of the workspace, with files `res_000001`, until the signal aborts. */
export async function serveSpool(directory: string, options: SpoolOptions): Promise<void> {
  const answering = new Set<Promise<void>>()
  while (!options.signal.aborted) {
    const { how, output } = await options.workspace.run(waitCommand(directory), {
      timeoutMs: POLL_MS,
      signal: options.signal,
      keepChars: 2 * MAX_LINE_BYTES,
    }).exit
    if (how !== "exited") continue
    for (const line of output.split("\n")) {
      const [, number, encoded] = /^req_(\d{6}) ([\w+/=]+)$/u.exec(line) ?? []
      if (number === undefined || encoded === undefined) continue
      const answered = answer(posix.join(directory, `res_${number}`), encoded, options)
      answering.add(answered)
      const forget = (): boolean => answering.delete(answered)
      answered.then(forget, forget)
    }
  }
  await Promise.allSettled(answering)
}

/** Waits in the workspace, because starting a command there may take longer than the wait. Prints and removes what has arrived. */
function waitCommand(directory: string): string {
  return `cd '${directory.replaceAll("'", `'\\''`)}' || exit 1
i=0
while [ $i -lt ${WAIT_SECONDS * 10} ]; do
  set -- req_??????
  if [ -e "$1" ]; then
    for file; do printf '%s ' "$file"; cat "$file"; echo; rm -f "$file"; done
    exit 0
  fi
  sleep 0.1
  i=$((i+1))
done`
}

async function answer(path: string, encoded: string, options: SpoolOptions): Promise<void> {
  const message = parseJson(Buffer.from(encoded, "base64").toString("utf8"))
  // A file without the token is not from the script.
  if (!hasToken(message, options.token)) return
  const request = readRequest(message)
  const result =
    typeof request === "string" ? { error: `Invalid RPC request: ${request}` } : await options.handle(request)
  const send = async (text: object): Promise<void> => {
    await options.workspace.files.write(path, Buffer.from(boundedLine(text)).toString("base64"))
  }
  const id = Number(path.slice(-6))
  try {
    await send({ id, ...result })
  } catch (error) {
    if (!options.signal.aborted) await send({ id, error: `The result could not be delivered: ${errorMessage(error)}` })
  }
}
