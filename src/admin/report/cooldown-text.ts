import { counted } from "../../base/counted.ts"
import type { LoadedHome } from "../loaded-home.ts"
import type { ProviderCredential } from "./probe-provider.ts"

/** Says that no credential can be used now, and until when. */
export function cooldownText(
  { count, until }: Extract<ProviderCredential, { readonly kind: "cooldown" }>,
  { clock }: Pick<LoadedHome, "clock">,
): string {
  const which = count === 1 ? "the only credential" : `all ${counted(count, "credential")}`
  if (until === undefined) return `${which} ${count === 1 ? "was" : "were"} refused and cannot be used`
  const minutes = Math.max(1, Math.ceil((until * 1000 - clock.now()) / 60_000))
  return `${which} ${count === 1 ? "is" : "are"} in cooldown; the first is used again in ${counted(minutes, "minute")}`
}
