import {
  choice,
  decimal,
  flag,
  integer,
  list,
  mapping,
  optionalDecimal,
  optionalFlag,
  optionalInteger,
  text,
  texts,
} from "../setting.ts"

/** The model, and how to connect to its provider. */
export const MODEL_SETTINGS = {
  "model.default": text("", "The model; empty lets Hermes choose.", {
    environment: { name: "HERMES_INFERENCE_MODEL", strength: "wins" },
  }),
  "model.provider": text("auto", "The provider that serves the model; `auto` uses the first one with a usable key.", {
    environment: { name: "HERMES_INFERENCE_PROVIDER", strength: "fills" },
  }),
  "model.base_url": text("", "URL of the endpoint when it is not the provider's default."),
  "model.api_key": text("", "API key for the endpoint; better stored in .env and referenced here as ${VAR}."),
  "model.api_mode": text("", "API format; empty derives it from provider, URL and model."),
  "model.context_length": optionalInteger("Context window in tokens, when the catalogue has none or a wrong one.", {
    min: 1,
  }),
  "model.max_tokens": optionalInteger("Maximum length of a reply in tokens; unset uses the provider's default.", {
    min: 1,
  }),
  "model.default_headers": mapping("Extra HTTP headers for every request to the configured provider."),
  "model.supports_vision": optionalFlag("Whether the model accepts images, when the catalogue does not list it."),
  "model.aliases": mapping("Short names for `provider/model`."),
  "model.max_session_tokens": optionalInteger("Stop a session before it uses more than this many tokens.", {
    min: 1,
    strict: true,
  }),
  "model.max_session_cost_usd": optionalDecimal("Stop a session before it costs more than this many dollars.", {
    min: 0,
    strict: true,
  }),
  "model.auth_mode": text("", "Login method when a provider offers several.", { reserved: true }),
  "model.openai_runtime": text("", "Reserved for an external OpenAI runtime.", { reserved: true }),
  providers: mapping("Custom providers and overrides of built-in ones, by name."),
  custom_providers: list("Legacy list form of `providers`; still read."),
  model_aliases: mapping("Short names with model, provider and URL."),
  fallback_providers: list("Providers and models to try in order when the first one fails."),
  credential_pool_strategies: mapping(
    "How to choose among several keys of a provider: fill_first, round_robin, random or least_used.",
  ),
  provider_routing: mapping("Aggregator preferences: sort, only, ignore, order, require_parameters, data_collection."),
  "openrouter.response_cache": flag(true, "Let OpenRouter answer repeated requests from its cache."),
  "openrouter.response_cache_ttl": integer(300, "Seconds a cached response may be reused.", { min: 1, max: 86_400 }),
  "openrouter.min_coding_score": decimal(
    0.65,
    "Minimum coding score of the models that `openrouter/pareto-code` may choose.",
    {
      min: 0,
      max: 1,
    },
  ),
  "bedrock.region": text("", "AWS region; empty uses AWS_REGION, then AWS_DEFAULT_REGION, then us-east-1."),
  "bedrock.discovery.enabled": flag(true, "List the account's Bedrock models.", { reserved: true }),
  "bedrock.discovery.provider_filter": texts([], "Only list models of these vendors.", { reserved: true }),
  "bedrock.discovery.refresh_interval": integer(3600, "Seconds between two listings.", { min: 1, reserved: true }),
  "bedrock.guardrail": mapping("Bedrock guardrail to apply: identifier, version, trace."),
  "prompt_caching.cache_ttl": choice(["5m", "1h"], "5m", "How long the provider keeps the cached prompt."),
  "model_catalog.enabled": flag(true, "Let `hermes model --refresh` fetch the manifest in `model_catalog.url`."),
  "model_catalog.url": text("", "URL of a JSON manifest with models per provider; empty fetches none."),
  "model_catalog.ttl_hours": decimal(1, "Hours a fetched catalogue stays fresh.", { min: 0, reserved: true }),
  "model_catalog.providers": mapping("Per-provider changes to the catalogue.", { reserved: true }),
  prefill_messages_file: text(
    "",
    "File with a JSON list of messages that precede every request and are never stored.",
    {
      environment: { name: "HERMES_PREFILL_MESSAGES_FILE", strength: "wins" },
      reserved: true,
    },
  ),
} as const
