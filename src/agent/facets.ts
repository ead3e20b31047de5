import { orAborted } from "../base/abort.ts"
import type { Logger } from "../base/logger.ts"
import { errorMessage } from "../base/system-error.ts"
import type { MemoryWrite } from "../knowledge/memory/memory-edit.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { AgentEvent } from "../protocol/events.ts"
import type { Message } from "../protocol/message.ts"
import type { ToolEntry, ToolPorts } from "../toolkit/tool.ts"
import type {
  Delegation,
  EndedCall,
  EndedDelegation,
  EndedTurn,
  FacetLayer,
  HookDecision,
  HookedCall,
  PromptRequest,
  Removal,
  SessionFacet,
  StartingTurn,
  ToolHooks,
  ToolText,
} from "./facet.ts"

/** Combines the facets of a session. No failure of a facet reaches the caller, except from `hooks.toolStarting`. */
export interface Facets {
  readonly hooks: ToolHooks
  tools(): readonly ToolEntry[]
  toolSources(): readonly string[]
  /** Of the first facet that has one. */
  toolText(entry: ToolEntry): ToolText | undefined
  /** If several facets offer the same port, the last one wins. */
  ports(): ToolPorts
  promptLayers(request: PromptRequest): Promise<readonly FacetLayer[]>
  /** All texts in list order. */
  beforeTurn(turn: StartingTurn): Promise<string>
  /** The first reason of a facet. */
  refusesTurn(): string | undefined
  eventEmitted(event: AgentEvent): void
  transformAnswer(text: string): Promise<string | undefined>
  /** One facet after the other. */
  awaitingReply(signal: AbortSignal): Promise<void>
  beforeCompression(removal: Removal): Promise<string>
  rotated(sessions: { readonly from: SessionId; readonly to: SessionId }): void
  historyChanged(history: readonly Message[]): void
  memoryWritten(write: MemoryWrite): void
  delegationStarted(delegation: Delegation): void
  delegationEnded(delegation: EndedDelegation): void
  turnFooters(): Promise<readonly string[]>
  afterTurn(turn: EndedTurn): void
  runEnded(): Promise<void>
  close(reason: string): Promise<void>
  closed(): void
}

export function combineFacets(list: readonly SessionFacet[], log: Logger): Facets {
  const failed = (facet: SessionFacet, stage: string, error: unknown): undefined => {
    log.warning(`${facet.name} failed in ${stage}: ${errorMessage(error)}`)
  }
  const attempt = async <T>(
    facet: SessionFacet,
    stage: string,
    work: () => Promise<T> | T | undefined,
  ): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      return failed(facet, stage, error)
    }
  }
  const guard = <T>(facet: SessionFacet, stage: string, work: () => T): T | undefined => {
    try {
      return work()
    } catch (error) {
      return failed(facet, stage, error)
    }
  }
  const each = (stage: string, work: (facet: SessionFacet) => void): void => {
    for (const facet of list) guard(facet, stage, () => work(facet))
  }
  const texts = async (stage: string, text: (facet: SessionFacet) => Promise<string | undefined> | undefined) =>
    (await Promise.all(list.map((facet) => attempt(facet, stage, () => text(facet))))).filter(isText)
  // Every call passes these, so facets without them cost nothing.
  const starting = list.filter((facet) => facet.toolStarting !== undefined)
  const noting = list.filter((facet) => facet.afterTool !== undefined)
  const ending = list.filter((facet) => facet.toolEnded !== undefined)
  const observing = list.filter((facet) => facet.eventEmitted !== undefined)

  return {
    hooks: {
      beforeTool: (call) => checkTool(list, call),
      toolStarting: async (call) => {
        const ended: { readonly facet: SessionFacet; readonly callback: () => void }[] = []
        const end = (): void => {
          for (const { facet, callback } of ended) guard(facet, "the end of a call", callback)
        }
        try {
          for (const facet of starting) {
            const callback = await facet.toolStarting?.(call)
            if (callback !== undefined) ended.push({ facet, callback })
          }
        } catch (error) {
          end()
          throw error
        }
        return end
      },
      ...(ending.length === 0
        ? {}
        : {
            toolEnded: async (call: EndedCall) =>
              await firstText(ending, (facet) => attempt(facet, "toolEnded", () => facet.toolEnded?.(call))),
          }),
      afterTool: async (call, signal) => {
        const notes: string[] = []
        for (const facet of noting) {
          if (signal.aborted) break
          const note = await attempt(facet, `afterTool of ${call.tool}`, async () =>
            orAborted(Promise.resolve(facet.afterTool?.(call, signal)), signal),
          )
          if (isText(note)) notes.push(note)
        }
        return notes
      },
    },
    tools: () => list.flatMap((facet) => guard(facet, "tools", () => facet.tools?.()) ?? []),
    toolSources: () => list.flatMap((facet) => guard(facet, "toolSources", () => facet.toolSources?.()) ?? []),
    toolText: (entry) => {
      for (const facet of list) {
        const text = guard(facet, "toolText", () => facet.toolText?.(entry))
        if (text !== undefined) return text
      }
      return undefined
    },
    ports: () =>
      list.reduce<ToolPorts>((ports, facet) => ({ ...ports, ...guard(facet, "ports", () => facet.ports?.()) }), {}),
    promptLayers: async (request) => {
      const layers = list.map(async (facet) => {
        try {
          return (await facet.promptLayers?.(request)) ?? []
        } catch (error) {
          failed(facet, "promptLayers", error)
          return [missingLayer(facet, error)]
        }
      })
      return (await Promise.all(layers)).flat()
    },
    beforeTurn: async (turn) => (await texts("beforeTurn", (facet) => facet.beforeTurn?.(turn))).join("\n\n"),
    refusesTurn: () => list.map((facet) => guard(facet, "refusesTurn", () => facet.refusesTurn?.())).find(isText),
    eventEmitted: (event) => {
      for (const facet of observing) guard(facet, "eventEmitted", () => facet.eventEmitted?.(event))
    },
    transformAnswer: async (text) =>
      await firstText(list, (facet) => attempt(facet, "transformAnswer", () => facet.transformAnswer?.(text))),
    awaitingReply: async (signal) => {
      for (const facet of list) {
        if (!signal.aborted) await attempt(facet, "awaitingReply", () => facet.awaitingReply?.(signal))
      }
    },
    beforeCompression: async (removal) => {
      const found: string[] = []
      // One after the other: memory is brought up to date before a memory provider reads it.
      for (const facet of list) {
        const text = await attempt(facet, "beforeCompression", () => facet.beforeCompression?.(removal))
        if (isText(text)) found.push(text)
      }
      return found.join("\n\n")
    },
    rotated: (sessions) => {
      each("rotated", (facet) => facet.rotated?.(sessions))
    },
    historyChanged: (history) => {
      each("historyChanged", (facet) => facet.historyChanged?.(history))
    },
    memoryWritten: (write) => {
      each("memoryWritten", (facet) => facet.memoryWritten?.(write))
    },
    delegationStarted: (delegation) => {
      each("delegationStarted", (facet) => facet.delegationStarted?.(delegation))
    },
    delegationEnded: (delegation) => {
      each("delegationEnded", (facet) => facet.delegationEnded?.(delegation))
    },
    turnFooters: async () => await texts("turnFooter", async (facet) => facet.turnFooter?.()),
    afterTurn: (turn) => {
      each("afterTurn", (facet) => facet.afterTurn?.(turn))
    },
    runEnded: async () => {
      for (const facet of list) await attempt(facet, "runEnded", () => facet.runEnded?.())
    },
    close: async (reason) => {
      for (const facet of list.toReversed()) await attempt(facet, "close", () => facet.close?.(reason))
    },
    closed: () => {
      each("closed", (facet) => facet.closed?.())
    },
  }
}

/** The prompt is stored for the life of the session, so tell the user that a part of it is missing. */
function missingLayer(facet: SessionFacet, error: unknown): FacetLayer {
  const warning = `The prompt of this session lacks its part about ${facet.name}: ${errorMessage(error)}.`
  return { tier: "volatile", name: facet.name, text: "", warning }
}

function isText(text: string | undefined): text is string {
  return text !== undefined && text !== ""
}

async function firstText(
  list: readonly SessionFacet[],
  text: (facet: SessionFacet) => Promise<string | undefined>,
): Promise<string | undefined> {
  for (const facet of list) {
    const found = await text(facet)
    if (isText(found)) return found
  }
  return undefined
}

/** Fails closed: a check that throws denies the call. */
async function checkTool(list: readonly SessionFacet[], call: HookedCall): Promise<HookDecision> {
  let current = call
  let ask: HookDecision | undefined
  for (const facet of list) {
    if (facet.beforeTool === undefined) continue
    const decision = await denyOnFailure(facet, current)
    if (decision.kind === "deny") return decision
    if (decision.kind === "ask") ask ??= decision
    if (decision.kind === "rewrite") current = { ...current, args: decision.args }
  }
  // A call that needs the user's approval is shown as the model wrote it, so other arguments are dropped.
  if (ask !== undefined) return ask
  return current === call ? { kind: "allow" } : { kind: "rewrite", args: current.args }
}

async function denyOnFailure(facet: SessionFacet, call: HookedCall): Promise<HookDecision> {
  try {
    return (await facet.beforeTool?.(call)) ?? { kind: "allow" }
  } catch (error) {
    return { kind: "deny", reason: `the check of ${facet.name} failed: ${errorMessage(error)}` }
  }
}
