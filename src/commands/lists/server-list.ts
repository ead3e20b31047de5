import { askModelServer, type ModelServer } from "../../admin/models/model-server.ts"
import type { HomeContext } from "../../admin/home-context.ts"
import { loadHome } from "../../admin/loaded-home.ts"
import { compactCount } from "../../base/compact-count.ts"
import { typedServerAddress } from "../../base/typed-server-address.ts"
import type { ListedModel } from "../../llm/catalog/model-list.ts"
import type { ChoiceList, Selection } from "../choice-list.ts"
import { modesFor, type ModelChoice } from "./model-choice.ts"

interface AnsweringServer {
  readonly server: ModelServer
  readonly key?: string
}

export function serverChoice(
  { server: { baseUrl, isLocal }, key }: AnsweringServer,
  { id, contextLength }: ListedModel,
): Extract<ModelChoice, { kind: "model" }> {
  return {
    kind: "model",
    provider: undefined,
    model: id,
    server: {
      baseUrl,
      isLocal,
      ...(key === undefined ? {} : { key }),
      ...(contextLength === undefined ? {} : { contextLength }),
    },
  }
}

/** The models of a server that the user named by its address. */
export function serverList(answering: AnsweringServer, mode: string | undefined): ChoiceList<ModelChoice> {
  const { baseUrl, models } = answering.server
  return {
    title: `Models of ${baseUrl}`,
    hint: "Enter uses it",
    modes: modesFor(mode),
    load: () =>
      Promise.resolve({
        choices: models.map((model) => ({
          value: serverChoice(answering, model),
          label: model.id,
          details: [model.contextLength === undefined ? "" : `${compactCount(model.contextLength)} context`],
        })),
      }),
  }
}

/** Asks for the key of a server. */
export function serverKeyList(message: string): ChoiceList<ModelChoice> {
  return {
    title: message,
    hint: "It is sent only to this server",
    emptyText: "Paste the key. It is not shown.",
    isSecret: true,
    load: () => Promise.resolve({ choices: [] }),
    freeEntry: (key) => ({ kind: "key", key }),
  }
}

interface ServerContext {
  readonly context: HomeContext & { readonly version: string }
  readonly mode: string | undefined
}

/** Asks for the address of a server, and then for one of its models. */
export function addressList(options: ServerContext): ChoiceList<ModelChoice> {
  return {
    title: "Address of the server",
    hint: "The base URL of an OpenAI-compatible API: Ollama, LM Studio, vLLM, llama.cpp",
    emptyText: "Type the address, for example http://localhost:11434/v1",
    load: () => Promise.resolve({ choices: [] }),
    freeEntry: (text) => ({ kind: "address", address: text.trim() }),
    select: async (value, { signal }) =>
      value.kind === "address" ? await openServer(value.address, { ...options, signal }) : { kind: "done" },
  }
}

/** Asks the server for its models. The list stays open with the reason when there are none. */
export async function openServer(
  typed: string,
  options: ServerContext & { readonly signal: AbortSignal; readonly key?: string },
): Promise<Selection<ModelChoice>> {
  const { context, mode, signal, key } = options
  const address = typedServerAddress(typed)
  if (address === undefined)
    return { kind: "stay", note: `"${typed}" is not an address. It looks like http://localhost:11434/v1.` }
  const sent = key === undefined ? {} : { key }
  const reply = await askModelServer(await loadHome(context), address, { ...sent, version: context.version, signal })
  if (reply.kind === "models") return { kind: "open", list: serverList({ server: reply.server, ...sent }, mode) }
  if (reply.kind === "failed" || key !== undefined) return { kind: "stay", note: reply.message }
  const list: ChoiceList<ModelChoice> = {
    ...serverKeyList(reply.message),
    select: async (value, { signal: typing }) =>
      value.kind === "key"
        ? await openServer(address, { ...options, key: value.key.trim(), signal: typing })
        : { kind: "done" },
  }
  return { kind: "open", list }
}
