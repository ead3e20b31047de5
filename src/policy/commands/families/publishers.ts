import type { CommandRule } from "../command-rule.ts"
import { hasFlag } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { isLoopback, networkHost } from "../network-target.ts"

/** Clients that send what their arguments contain or name. Looking something up is another command of theirs. */
const PUBLISHERS: Readonly<Record<string, RegExp>> = {
  mosquitto_pub: /./u,
  "amqp-publish": /./u,
  kcat: /^-P$/mu,
  kafkacat: /^-P$/mu,
  nats: /^(?:pub|publish|request|req)$/mu,
  smbclient: /\b(?:m?put|prompt|tar)\b/mu,
  ldapmodify: /./u,
  ldapadd: /./u,
  ldapdelete: /./u,
  snmpset: /./u,
  ntfy: /^(?:publish|pub|send|trigger)$/mu,
  apprise: /./u,
  oras: /^(?:push|attach|copy|cp)$/mu,
  crane: /^(?:push|copy|cp|append|mutate)$/mu,
  regctl: /copy|put|push/mu,
  skopeo: /^(?:copy|sync|delete)$/mu,
  cosign: /^(?:upload|attach|sign)$/mu,
  surge: /./u,
  "gh-pages": /./u,
  ipfs: /^(?:add|publish)$/mu,
  transfer: /./u,
  "transfer.sh": /./u,
  wormhole: /^(?:send|tx)$/mu,
  "magic-wormhole": /^send$/mu,
  croc: /^send$/mu,
  ffsend: /^(?:upload|u|up)$/mu,
  bore: /./u,
  gradle: /^:?(?:[\w-]+:)*(?:publish(?!\w*ToMavenLocal)\w*|upload\w*|bintrayUpload|closeAndRelease\w*)$/mu,
  gradlew: /^:?(?:[\w-]+:)*(?:publish(?!\w*ToMavenLocal)\w*|upload\w*|bintrayUpload|closeAndRelease\w*)$/mu,
  sbt: /publish|release/mu,
  lein: /^deploy$/mu,
  hugo: /^deploy$/mu,
  expo: /^(?:publish|upload)/mu,
  eas: /^(?:submit|update|upload)/mu,
  fastlane: /./u,
  swaks: /./u,
}
const publishes = (call: Invocation): boolean =>
  call.words.length > 0 &&
  !hasFlag(call, /^--(?:help|version|dry-run)$/u) &&
  !isLoopback(networkHost(call)) &&
  PUBLISHERS[call.program]?.test(call.words.map(({ text }) => text).join("\n")) === true

/** Clients of brokers, registries, file transfers and build tools with commands that publish. */
export const PUBLISHER_RULES: readonly CommandRule[] = [
  {
    key: "send data to another machine",
    programs: Object.keys(PUBLISHERS),
    when: publishes,
    does: "sends or publishes data",
    effects: (call) => [{ kind: "network", host: networkHost(call) }],
  },
]
