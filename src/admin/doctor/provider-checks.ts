import { chooseModelFor, findLocalModel } from "../../app/services/model-sources.ts"
import { counted } from "../../base/counted.ts"
import { loginProblems } from "../../config/stored-logins.ts"
import { maskAddressPasswords } from "../../config/secrets.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import { findLocalServers } from "../../llm/local/local-servers.ts"
import { cooldownText } from "../report/cooldown-text.ts"
import { probeProvider, selectCredential, type ProviderCredential } from "../report/probe-provider.ts"
import { infoFinding, okFinding, type DoctorContext, type Finding, type Section } from "./finding.ts"

export const providersSection: Section = {
  title: "Model and provider",
  check: async (context) => {
    const chosen = chooseModelFor(context, {})
    const found = !chosen.ok
      ? [{ level: "failure", text: chosen.error.message, fix: "hermes config show lists what is set" } as const]
      : chosen.value.demoByDefault
        ? [await unconfiguredFinding(context)]
        : await modelFindings(chosen.value, context)
    return [...damagedLogins(context), ...found]
  },
}

function damagedLogins({ home }: DoctorContext): readonly Finding[] {
  const fix = "log in again with hermes auth add PROVIDER, or restore auth.json from a backup"
  return loginProblems(home).map((text) => ({ level: "failure", text, fix }))
}

/** Without a provider a session uses a local model server, if one is running. */
async function unconfiguredFinding(context: DoctorContext): Promise<Finding> {
  const local = await findLocalModel(context, { signal: context.signal })
  if (local?.kind === "one") {
    const { model, baseUrl } = local.chosen.runtime
    return okFinding(`${model} from ${local.server} at ${baseUrl}, because no provider is configured`)
  }
  if (local?.kind === "several") {
    const text = `no provider is configured, and ${local.server} offers ${counted(local.models.length, "model")}`
    return { level: "warning", text, fix: "hermes model chooses one" }
  }
  return {
    level: "warning",
    text: "no provider is configured, so the demo model answers",
    fix: "hermes config set OPENROUTER_API_KEY KEY, or hermes config set model.base_url http://… for a local server",
  }
}

async function modelFindings(chosen: ChosenModel, context: DoctorContext): Promise<readonly Finding[]> {
  const { runtime } = chosen
  const found = await selectCredential(context, chosen)
  const subject = `${runtime.model} from ${runtime.provider}`
  if (found.kind === "cooldown") {
    const fix = `wait, add another with hermes auth add ${runtime.provider}, or clear it with hermes auth reset ${runtime.provider}`
    return [{ level: "warning", text: `${subject}: ${cooldownText(found, context)}`, fix }]
  }
  const model = okFinding(`${subject}, ${credentialText(found)}`)
  if (runtime.wire === "in-process") return [model]
  const credential = found.kind === "usable" ? found.credential : undefined
  const probe = await probeProvider(context, chosen, { credential, signal: context.signal })
  const text = maskAddressPasswords(`${runtime.baseUrl} ${probe.text}`)
  const fix = "check the address, the key and the network"
  return [model, probe.level === "ok" ? okFinding(text) : { level: probe.level, text, fix }]
}

function credentialText(found: Exclude<ProviderCredential, { readonly kind: "cooldown" }>): string {
  if (found.kind === "none needed") return "no key needed"
  const { kind, source } = found.credential
  return `${kind === "oauth" ? "login" : "key"} from ${source}`
}

export const localServersSection: Section = {
  title: "Local servers",
  check: async ({ environment, signal }) => {
    const servers = await findLocalServers({ environment, signal })
    return servers.length === 0
      ? [infoFinding("none found on the usual ports")]
      : servers.map(({ name, baseUrl, models }) =>
          okFinding(`${name} answers at ${baseUrl} with ${counted(models.length, "model")}`),
        )
  },
}
