import { lazy } from "../../base/lazy.ts"
import { ellipsize } from "../../base/text.ts"
import type { StartingCall } from "../../agent/facet.ts"
import type { Checkpoints } from "../../exec/checkpoints/checkpoints.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

const MAX_REASON_CHARS = 120
const PRUNE_MS = 5000

/** Snapshots of the project before the first change of a turn, to undo it. Only for files on this machine. */
export function checkpointsFacet(context: FacetContext): AppFacet | undefined {
  const { options, services, workspace } = context
  if (workspace.kind !== "local") return undefined
  const isEnabled = options.checkpoints ?? services.config.get("checkpoints.enabled")
  const initialDirectory = workspace.cwd()
  let turns = 0
  /** Index of the first message to remove when a checkpoint with its conversation was restored in this run. */
  let rewindTo: number | undefined
  const checkpoints = lazy(async () => {
    const opened = await openCheckpoints(context, {
      enabled: isEnabled,
      initialDirectory,
      rewind: (messageCount) => {
        rewindTo = messageCount
      },
    })
    opened.beginTurn(String(turns))
    return opened
  })
  return {
    name: "checkpoints",
    ports: () => ({ checkpoints: async () => (await checkpoints()).named }),
    abilities: () => ({ checkpoints }),
    beforeTurn: async () => {
      turns += 1
      ;(await checkpoints.peek())?.beginTurn(String(turns))
      return undefined
    },
    toolStarting: async (call) => {
      if (!isEnabled || (call.access !== "write" && call.access !== "exec")) return undefined
      await (
        await checkpoints()
      ).beforeChange({
        ...writtenPaths(call, context),
        reason: ellipsize(`${call.tool} ${call.preview}`, MAX_REASON_CHARS),
        signal: call.signal,
      })
      return undefined
    },
    runEnded: async () => {
      const index = rewindTo
      rewindTo = undefined
      if (index !== undefined) await context.session().conversation.rewind(index)
    },
    close: async () => {
      const opened = await checkpoints.peek()
      await opened?.pruneIfDue(AbortSignal.timeout(PRUNE_MS))
      opened?.close()
    },
  }
}

/** A command may change anything in its directory, so only calls that write files have paths. */
function writtenPaths(
  { access, subjects }: StartingCall,
  { workspace }: FacetContext,
): { readonly paths?: readonly string[] } {
  const paths = subjects.flatMap((subject) => (subject.kind === "path" ? [workspace.files.resolve(subject.path)] : []))
  return access === "write" && paths.length > 0 ? { paths } : {}
}

async function openCheckpoints(
  context: FacetContext,
  how: {
    readonly enabled: boolean
    readonly initialDirectory: string
    readonly rewind: (messageCount: number) => void
  },
): Promise<Checkpoints> {
  const { services, workspace } = context
  const { config, environment, home, clock, log } = services
  const [{ createCheckpoints }, { checkpointSettings }] = await Promise.all([
    import("../../exec/checkpoints/checkpoints.ts"),
    import("../../exec/checkpoints/checkpoint-settings.ts"),
  ])
  return createCheckpoints({
    home: home.path,
    userHome: home.userHome,
    initialDirectory: how.initialDirectory,
    workdir: () => workspace.cwd(),
    sessionId: () => context.session().conversation.id,
    path: environment.get("PATH") ?? "",
    settings: { ...checkpointSettings(config), enabled: how.enabled },
    clock,
    log,
    conversation: {
      messages: () => context.session().conversation.history,
      todo: () => context.ports().todo?.read() ?? [],
      rewind: ({ messageCount }) => {
        how.rewind(messageCount)
      },
    },
  })
}
