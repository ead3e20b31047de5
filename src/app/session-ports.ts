import { fingerprint } from "../base/random-and-hash.ts"
import type { Conversation } from "../agent/conversation.ts"
import { MEMORY_TARGETS } from "../knowledge/memory/memory-file.ts"
import type { RecallEntry } from "../knowledge/recall/entry-chunks.ts"
import { StoreError } from "../state/store.ts"
import type { SessionStore } from "../state/store.ts"
import type { DeferredToolsPort } from "../toolkit/ports/deferred-tools.ts"
import { createSudoPort } from "../toolkit/ports/sudo.ts"
import type { ToolPorts } from "../toolkit/tool.ts"
import type { Shared } from "./session-options.ts"
import type { SessionFiles } from "./session-files.ts"
import type { SessionKnowledge } from "./session-knowledge.ts"

/** What the tools of a session may reach above the workspace. */
export function portsFor(
  session: {
    readonly conversation: Conversation
    readonly knowledge: SessionKnowledge
    readonly store: SessionStore | { readonly reason: string }
    readonly files: SessionFiles
    readonly deferredTools: DeferredToolsPort
  },
  shared: Shared,
): ToolPorts {
  const { conversation, knowledge, store, files, deferredTools } = session
  return {
    files: files.tracker,
    ...(files.port === undefined ? {} : { checkpoints: files.port }),
    ...(files.diagnostics === undefined ? {} : { diagnostics: files.diagnostics }),
    deferredTools,
    memory: knowledge.memory,
    learnings: knowledge.learnings,
    todo: knowledge.todo,
    processes: () => shared.processes.open(),
    sudo: createSudoPort(shared.environment.get("SUDO_PASSWORD")),
    sessions: {
      sessionId: () => conversation.id,
      store: (profile) => {
        if ("reason" in store) return Promise.reject(new StoreError("unavailable", store.reason))
        return profile === undefined || profile === shared.home.profile
          ? Promise.resolve(store)
          : shared.storeOf(profile)
      },
      recall: () => shared.recall(),
      notes: () => notesOf(knowledge),
    },
  }
}

/** What memory and learnings hold now. */
async function notesOf({ memory, learnings }: SessionKnowledge): Promise<readonly RecallEntry[]> {
  const entries = MEMORY_TARGETS.flatMap((kind) => {
    const answer = memory.read(kind)
    const texts = answer.kind === "done" ? answer.entries : []
    return texts.map((text) => ({ kind, ref: `${kind}:${fingerprint(text)}`, text, createdAt: 0 }))
  })
  const known = (await learnings()).list(MAX_LEARNINGS)
  const lessons = (known.ok ? known.value : []).map(({ id, pattern, fix, createdAt }) => ({
    kind: "learning" as const,
    ref: `learning:${id}`,
    text: `${pattern}\n${fix}`,
    createdAt,
  }))
  return [...entries, ...lessons]
}

const MAX_LEARNINGS = 1000
