import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { valueAt } from "../../config/document/document-tree.ts"
import { withVariables } from "../../config/environment.ts"
import type { ConfigEdit } from "../../config/edit-config.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import {
  hasLogins,
  loginProblems,
  storedProviders,
  suppressedSources,
  suppressedVariables,
} from "../../config/stored-logins.ts"
import { mainFallbacks } from "../../llm/auxiliary/fallback-entry.ts"
import { chooseModel } from "../../llm/choose-model.ts"
import type { ChosenModel, ModelChoiceFailure, ModelSelection } from "../../llm/choose-model.ts"
import { findConfiguredProvider } from "../../llm/configured-provider.ts"
import type { CredentialOrigin, CredentialSource } from "../../llm/credential.ts"
import { externalKeys } from "../../llm/endpoint-and-credential.ts"
import { CUSTOM_PROVIDER, findProvider } from "../../llm/providers.ts"
import type { PendingWrites } from "./pending-writes.ts"

export interface ModelSources {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
  readonly clock: Clock
  readonly log: Logger
}

/** Chooses a model with the settings, environment variables and logins of this home. The only way to choose one. */
export function chooseModelFor(
  sources: ModelSources,
  selection: ModelSelection,
): Result<ChosenModel, ModelChoiceFailure> {
  const chosen = chooseModel(selection, {
    ...sources,
    environment: withoutSuppressed(sources),
    storedProviders: storedProviders(sources.home),
    suppressedSources: suppressedSources(sources.home),
  })
  if (chosen.ok) return chosen
  // A key that seems to be missing may be in a file that cannot be read.
  const problems = loginProblems(sources.home)
  return problems.length === 0
    ? chosen
    : fail({ ...chosen.error, message: [chosen.error.message, ...problems].join("; ") })
}

function withoutSuppressed({ environment, home }: ModelSources): Environment {
  const names = [...suppressedVariables(home)]
  return names.length === 0
    ? environment
    : withVariables(environment, Object.fromEntries(names.map((name) => [name, undefined])))
}

/** The credential pool of a provider; undefined when there is at most one key, so that the code for pools is not loaded. */
export async function openProviderPool(
  provider: string,
  sources: ModelSources & {
    readonly registerSecrets?: (values: readonly string[]) => void
    /** Only these credentials; all of them when absent. */
    readonly origins?: readonly CredentialOrigin[] | undefined
    readonly pendingWrites?: PendingWrites
  },
): Promise<CredentialSource | undefined> {
  if (!hasLogins(sources.home) && !hasSeveralKeys(provider, sources)) return undefined
  const { openCredentialPool } = await import("../../llm/credentials/pool.ts")
  const { origins, ...rest } = sources
  const limits = origins === undefined ? {} : { origins }
  const pool = await openCredentialPool({ ...rest, ...limits, provider, random: Math.random })
  return pool.size() === 0 ? undefined : pool
}

/** The models of a local model server. */
export type LocalFind =
  | { readonly kind: "one"; readonly server: string; readonly chosen: ChosenModel }
  /** The user has to choose one. */
  | { readonly kind: "several"; readonly server: string; readonly models: readonly ChosenModel[] }

/** Finds the model of a local server: the named one or the only one; otherwise returns the first server with several. */
export async function findLocalModel(
  sources: ModelSources,
  { signal, named }: { readonly signal: AbortSignal; readonly named?: string | undefined },
): Promise<LocalFind | undefined> {
  const { findLocalServers, chooseLocalModel } = await import("../../llm/local/local-servers.ts")
  const found = (await findLocalServers({ environment: sources.environment, signal })).map((server) => {
    const choice = chooseLocalModel(server, named)
    const models = choice.kind === "one" ? [choice.model] : choice.kind === "several" ? choice.models : []
    const chosen = models.flatMap(({ id, contextLength }) => {
      const selection = { provider: "custom", model: id, baseUrl: server.baseUrl }
      const known = chooseModelFor(
        sources,
        contextLength === undefined ? selection : { ...selection, listedWindow: contextLength },
      )
      return known.ok ? [known.value] : []
    })
    return { server: server.name, models: chosen }
  })
  const single = found.find(({ models }) => models.length === 1)
  if (single?.models[0] !== undefined) return { kind: "one", server: single.server, chosen: single.models[0] }
  const several = found.find(({ models }) => models.length > 1)
  return several === undefined ? undefined : { kind: "several", ...several }
}

/**
 * Makes a model the default, in one edit. An address that is not the provider's own is saved with it, together with the variable of its
 * key; what belonged to another provider or address is removed.
 */
export async function rememberModel(sources: ModelSources, { runtime, key }: ChosenModel): Promise<Result<undefined>> {
  const { home, environment, config } = sources
  const { provider, model, baseUrl, credentialSource } = runtime
  const former = config.get("model.base_url").replace(/\/+$/u, "")
  const ofProvider = chooseModelFor(sources, { provider, model })
  const isOwnAddress = former !== baseUrl && ofProvider.ok && ofProvider.value.runtime.baseUrl === baseUrl
  const address = isOwnAddress ? "" : baseUrl
  const isOtherAddress = address !== former
  const isVariable = /^[A-Z][A-Z0-9_]*$/u.test(credentialSource)
  if (isOtherAddress && address !== "" && key !== undefined && !isVariable)
    return fail(`its key is in no variable; \`hermes model ${address}\` asks for the key and stores it`)
  const isOther = isOtherAddress || providerOfSettings(config) !== provider
  const ofServer: Readonly<Record<string, string | undefined>> = {
    "model.base_url": address === "" ? undefined : address,
    "model.api_key": address !== "" && key !== undefined && isVariable ? `\${${credentialSource}}` : undefined,
    "model.api_mode": undefined,
    "model.context_length": undefined,
  }
  const written = config.user()
  const edits = Object.entries(isOther ? ofServer : {}).flatMap(([path, value]): ConfigEdit[] => {
    if (value !== undefined) return [{ path, value }]
    return valueAt(written, path) === undefined || credentialSource === path ? [] : [{ path, remove: true }]
  })
  const { editConfig } = await import("../../config/edit-config.ts")
  const edited = await editConfig({ home, environment }, [
    { path: "model.default", value: model },
    { path: "model.provider", value: provider },
    ...edits,
  ])
  return edited.ok ? edited : fail(edited.error.message)
}

/** The provider that `model.base_url` and the settings next to it belong to. */
function providerOfSettings(config: Config): string {
  const named = config.get("model.provider")
  if (named === "" || named === "auto") return config.get("model.base_url") === "" ? named : CUSTOM_PROVIDER.id
  return findConfiguredProvider(named, config)?.id ?? findProvider(named)?.id ?? named
}

/** Several keys without a file that manages them, in variables or in the settings. */
function hasSeveralKeys(
  name: string,
  sources: ModelSources & { readonly origins?: readonly CredentialOrigin[] | undefined },
): boolean {
  const provider = findConfiguredProvider(name, sources.config) ?? findProvider(name)
  if (provider === undefined) return false
  const origins = sources.origins ?? ["environment", "settings"]
  return new Set(externalKeys(provider, { ...sources, origins }).map(({ key }) => key)).size > 1
}

/** The fallbacks of the main model. Each is chosen only when it is needed. */
export function fallbackModels(sources: ModelSources): readonly {
  readonly name: string
  choose(): Result<ChosenModel, ModelChoiceFailure>
}[] {
  return mainFallbacks(sources.config).map((selection) => ({
    name: `${selection.provider} ${selection.model ?? ""}`.trim(),
    choose: () => chooseModelFor(sources, selection),
  }))
}
