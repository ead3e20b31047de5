import { sha256Hex } from "../../base/random-and-hash.ts"
import { executedFiles } from "../../policy/executed-files.ts"
import type { Decision } from "../../policy/policy-request.ts"
import type { FileFacts } from "../../exec/workspace.ts"
import type { DispatchSession } from "./dispatch-session.ts"
import type { JudgedCall } from "./policy-request.ts"
import type { ReadyCall } from "./prepare.ts"

/**
 * The digest of everything that an approval covers. A grant for the session is bound to it, so that another directory, environment or
 * definition, a link that points elsewhere, or a changed script asks again.
 */
export async function exactCall(
  { parsed }: ReadyCall,
  { request, state, realPaths }: JudgedCall,
  { session, fresh }: { readonly session: DispatchSession; readonly fresh: Decision["fresh"] },
): Promise<string> {
  const base = {
    tool: request.tool,
    access: request.access,
    subjects: request.subjects,
    action: request.action,
    ...(fresh === true ? { args: parsed.args } : {}),
  }
  if (request.commands.length === 0) return sha256Hex(JSON.stringify({ ...base, paths: request.paths }))
  const files = [...new Set(request.commands.flatMap(({ verdict }) => executedFiles(verdict.understood)))].toSorted()
  return sha256Hex(
    JSON.stringify({
      ...base,
      lines: request.commands.map(({ line }) => line),
      directory: state.directory,
      variables: sorted(state.variables),
      lists: Array.from(state.lists ?? [], ([name, items]) => [name, [...items]]),
      functions: sorted(state.functions),
      aliases: sorted(state.aliases),
      links: sorted(realPaths),
      background: parsed.args["background"],
      pty: parsed.args["pty"],
      process: parsed.args["session_id"],
      files: await Promise.all(files.map(async (path) => [path, await contentDigest(path, session)])),
    }),
  )
}

function sorted(map: ReadonlyMap<string, string | undefined>): readonly (readonly [string, string | null])[] {
  return Array.from(map, ([name, value]) => [name, value ?? null] as const).toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** Programs such as a compiler are large and do not change between two calls; their size and time are enough. */
const MAX_HASHED_BYTES = 2_000_000

async function contentDigest(path: string, { workspace: { files } }: DispatchSession): Promise<string> {
  let facts: FileFacts | undefined
  try {
    facts = await files.stat(path)
    if (facts === undefined || facts.kind !== "file") return "absent"
    if (facts.size > MAX_HASHED_BYTES) return `${facts.size} ${facts.modifiedMs}`
    return sha256Hex(new TextDecoder("latin1").decode(await files.read(path)))
  } catch {
    // Not readable here (no permission, a file with secrets): only its facts can be compared.
    return facts === undefined ? `unreadable ${Math.random()}` : `unreadable ${facts.size} ${facts.modifiedMs}`
  }
}
