import type { StartingCall } from "../../agent/facet.ts"
import { ellipsize } from "../../base/text.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

const MAX_COMMAND_CHARS = 200

/** Asks the user about hosts that commands want to reach and that are not listed. Without a running command, or without a user, they are refused. */
export function networkQuestionsFacet({ workspace }: FacetContext): AppFacet | undefined {
  if (workspace.onUnlistedHost === undefined) return undefined
  const running = new Set<StartingCall>()
  const allowed = new Set<string>()
  const asked = new Map<string, Promise<boolean>>()
  const ask = async (host: string): Promise<boolean> => {
    const call = [...running].at(-1)
    if (call === undefined) return false
    const outcome = await call.ask({
      kind: "question",
      asker: "hermes",
      question: `The command \`${ellipsize(call.preview, MAX_COMMAND_CHARS)}\` wants to reach ${host}, which is not in terminal.sandbox_hosts. Allow it?`,
      choices: [DENY, ONCE, SESSION],
      allowFreetext: false,
    })
    const answer = outcome.kind === "answer" ? outcome.text : DENY
    if (answer === SESSION) allowed.add(host)
    return answer === ONCE || answer === SESSION
  }
  workspace.onUnlistedHost(async (destination) => {
    const host = shownDestination(destination)
    if (allowed.has(host)) return true
    // A program opens several connections to one host; one question is enough.
    const pending = asked.get(host) ?? ask(host)
    asked.set(host, pending)
    try {
      return await pending
    } finally {
      asked.delete(host)
    }
  })
  return {
    name: "network questions",
    toolStarting: (call) => {
      if (call.access !== "exec") return Promise.resolve(undefined)
      running.add(call)
      return Promise.resolve(() => {
        running.delete(call)
      })
    },
  }
}

/** The answer is for one port: another one may belong to another program. */
function shownDestination({ host, port }: { readonly host: string; readonly port: number }): string {
  const bracketed = host.includes(":") ? `[${host}]` : host
  return port === 80 || port === 443 ? bracketed : `${bracketed}:${port}`
}

const DENY = "No"
const ONCE = "Yes, this time"
const SESSION = "Yes, for this session"
