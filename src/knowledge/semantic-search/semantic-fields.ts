/**
 * Semantic fields: groups of words about one subject, such as "boiler" and "warm". Unlike synonyms they are only related. A text is
 * also indexed under the fields of its words, so that a query finds it without sharing a single word. A word may be in several fields.
 */
export const SEMANTIC_FIELDS: Readonly<Record<string, string>> = {
  // People
  person: "person people man woman human guy lady gentleman somebody someone individual folks guest stranger",
  family:
    "family relative parent mother father mum mom dad mama papa son daughter child kid baby brother sister sibling twin uncle aunt " +
    "nephew niece cousin grandmother grandfather grandma grandpa granny grandchild maternal paternal in-law orphan toddler infant",
  partner:
    "wife husband spouse partner girlfriend boyfriend marriage marry married wedding bride groom divorce engaged fiance couple knot",
  friend: "friend mate buddy pal acquaintance neighbour neighbor companion guest host visit invite",
  responsibility:
    "responsible responsibility charge owner own maintainer maintain lead leader head boss manager manage supervisor care look after " +
    "oversee accountable duty contact chief director report above superior approve approver sign authority",
  occupation:
    "job work profession occupation career employ employee employer staff colleague coworker apprentice trainee intern hire salary " +
    "living earn nurse carpenter notary pilot judge brewer baker teacher engineer plumber electrician lawyer doctor mechanic cook",
  team: "team group crew squad department division unit colleagues members organisation organization together",
  company:
    "company firm business enterprise corporation startup organisation organization subsidiary vendor supplier agency institute",
  customer: "customer client buyer user consumer subscriber audience revenue account sale public",
  authority:
    "government authority office ministry agency tax official administration council mayor state police court permit",
  name: "name call called title nickname alias surname label named rename naming term word",

  // Body and health
  health:
    "health healthy ill sick unwell disease illness symptom fever infection flu cold virus cure heal recover medical well dizzy seasick nausea",
  medicine:
    "medicine medication drug pill tablet prescription dose pharmacy painkiller paracetamol ibuprofen aspirin antibiotic vaccine vaccination swallow treat treatment therapy",
  doctor:
    "doctor physician gp clinic hospital nurse surgeon surgery dentist vet veterinarian therapist specialist appointment examine checkup medical diagnosis pacemaker",
  injury:
    "injury injure hurt wound break broke broken fracture wrist ankle bone sprain accident bandage collarbone bruise cut bleed pain",
  pain: "pain ache sore hurt headache toothache stomach back cramp migraine upset",
  teeth: "tooth teeth dentist dental toothache braces filling gum",
  sight: "eye eyes see sight vision glasses spectacles lenses optician blind read reading screen reflect watch view",
  hearing: "ear ears hear hearing listen sound noise loud deaf quiet acoustics voice",
  blood: "blood pressure hypertension heart pulse cholesterol circulation",
  sleep: "sleep asleep bed night awake tired nap rest insomnia dream wake fatigue exhausted",
  allergy:
    "allergy allergic intolerance intolerant avoid peanut nut shellfish gluten lactose celery pollen reaction tolerate",
  fitness:
    "exercise sport gym fitness workout train training run running jog jogging swim swimming cycle hike marathon yoga muscle outdoors athletic match",
  body: "body hand arm leg foot feet head face hair skin back knee shoulder finger wrist ankle size tall weight",

  // Food and home
  food:
    "food eat eating ate meal dish cuisine cook recipe lunch dinner breakfast supper snack hungry restaurant bread meat fish cheese fruit " +
    "vegetable soup sauce taste diet vegetarian vegan dairy nutrition goulash risotto ramen pizza pasta rice salad",
  drink:
    "drink beverage coffee tea espresso water juice milk beer wine kefir sip cup bottle thirsty glass brew cappuccino",
  cooking: "cook bake kitchen oven stove pan pot recipe fry boil fridge refrigerator freezer dish ingredients descale",
  home: "home house flat apartment room cellar basement roof wall door window floor kitchen bathroom attic cabin hut residence live tenant move",
  rent: "rent landlord lease tenant flat apartment owner deposit lessor housing",
  furniture:
    "furniture table chair sofa couch desk shelf drawer cupboard wardrobe bed lamp carpenter wood carpet curtain",
  heating: "heat heating boiler radiator warm cold temperature thermostat heater stove degree freeze chilly",
  cleaning: "clean wash tidy dust laundry vacuum soap descale dirt dirty stain vinegar acid wipe scrub polish",
  repair:
    "repair fix mend broken restore replace service maintenance mechanic patch overhaul workshop craftsman handyman cure solve",
  tools: "tool drill hammer screw nail saw grease ladder paint shed toolbox wrench glue",
  garden:
    "garden yard lawn plant tree flower hedge compost soil grass greenhouse harvest seed weed bush fence bee hive orchard",
  animals:
    "animal pet dog puppy hound cat kitten rabbit horse bird fish vet bite bark feed bee hive cow chicken hamster breed insect moth mite",
  clothes:
    "clothes clothing wear shirt trousers dress jacket coat scarf sock shoe boots footwear hat size fit umbrella",
  keys: "key lock unlock door spare padlock safe keyring",
  waste: "waste garbage trash rubbish bin recycle dump throw discard shred",

  // Places and moving
  place:
    "place location where city town village country street address region area site spot map near building district corner hall",
  residence: "live reside residence home address born roots origin come from native move settle hometown grow grew",
  travel:
    "travel trip journey tour holiday vacation visit abroad flight hotel luggage suitcase passport visa book tourist fly ferry tunnel",
  car: "car vehicle drive driver driving automobile truck van garage tyre tire wheel petrol diesel fuel park parking licence traffic motor",
  transit:
    "commute bus train tram ferry metro subway bicycle bike station stop ticket fare line railway platform get travel",
  bicycle: "bike bicycle cycle cycling pedal saddle helmet chain wheel",
  boat: "boat ship kayak canoe sail ferry harbour harbor sea river row",
  flight: "flight plane airplane aircraft airport pilot fly air boarding",
  papers: "passport id identity document papers visa certificate licence permit card valid renew expire photo",

  // Time
  time: "time hour minute second clock oclock moment timezone utc early late noon midnight ahead timer",
  date: "date day week month year weekday calendar january february march april may june july august september october november december",
  weekday: "weekday day monday tuesday wednesday thursday friday saturday sunday weekend",
  schedule:
    "schedule plan appointment meeting calendar agenda slot booking reservation timetable rota shift rotation handover suit planning scheduler",
  start: "start begin began launch kick open first commence origin initial founded new",
  finish: "end finish stop close over complete final last due deadline conclude finished",
  delay: "delay postpone late defer reschedule wait hold hurry until overdue slip",
  expiry: "expire expiry expiration valid validity renew renewal lapse until run out outdated",
  frequency:
    "often frequently frequency every interval daily weekly monthly nightly regularly hourly rarely repeat times cycle quarterly",
  duration: "long duration last length hours minutes days period retain keep timeout take",
  birthday: "birthday born birth age old anniversary congratulate celebrate",
  holiday: "holiday vacation leave christmas easter celebration festival party gift present december away free",
  past: "past previous former earlier before old once history ago yesterday",
  future: "future next upcoming tomorrow soon plan later will forthcoming",

  // Money
  money:
    "money pay paid payment price cost euro dollar cash expensive cheap fee charge spend buy invoice bill budget finance bank worth owe",
  income: "salary pay wage income earn raise bonus pension revenue profit compensation",
  purchase: "buy bought purchase order shop store sell sold sale seller acquire get deal price supermarket market",
  billing: "bill invoice billing charge payment receipt refund statement due ledger accounting transfer vat",
  banking: "bank account savings loan credit mortgage debt interest iban card institute transfer deposit",
  insurance: "insurance insure policy cover coverage claim damage premium accident liability",
  tax: "tax vat duty authority declaration statement quarterly return fiscal",
  subscription: "subscription subscribe membership member plan regularly pass fee newspaper club",
  contract: "contract agreement deal sign terms license licence clause legal negotiate",
  law: "law legal lawyer attorney solicitor court judge lawsuit regulation gdpr rights notary sue advice",

  // Feelings, wishes and opinions
  liking:
    "like love enjoy favourite favorite prefer preference fond happy please best fan adore taste pleases enthusiastic",
  dislike: "dislike hate annoy annoying stand avoid detest bother irritate unpleasant disgust cannot",
  fear: "fear afraid scare scared scary phobia panic anxious worry terrified nervous",
  wish: "wish want desire hope dream christmas gift present need request idea",
  decision: "decide decision choose choice chose pick select vote agree settle opt against prefer rather option",
  permission:
    "allow allowed permit permission may forbid forbidden prohibit ban banned must not refuse consent grant restrict approve",
  advice: "advice advise recommend recommendation suggest suggestion tip hint propose proposal counsel",
  reason: "why reason cause caused because due led source origin explain responsible culprit blame",
  problem:
    "problem issue trouble error fault fail failure defect bug wrong break broken difficulty damage complaint choke",
  agreement: "agree approve accept accepted consent green light okay confirm sign yes",
  refusal: "refuse reject decline deny no turn down against stop object veto",
  help: "help assist support aid volunteer free charity rescue shelter unpaid donate",
  question: "ask question answer reply respond response inquiry request",

  // Culture and leisure
  music:
    "music song instrument play piano guitar cello violin trumpet harp band concert choir sing tune orchestra quartet album vinyl listen rehearse opera",
  books:
    "book novel read author writer library story page shelf literature poem poet chapter publish newspaper magazine thesis",
  film: "film movie cinema series watch actor episode podcast show video stream theatre stage",
  art: "art paint painting picture museum exhibition gallery draw drawing sculpture design colour",
  photo: "photo picture image camera photograph thumbnail preview portrait selfie",
  games: "game play board chess cards puzzle player toy console",
  hobby: "hobby collect collection pastime leisure interest spare stamps fossils gather club craft knit",
  education:
    "school study student university college class course lesson learn exam thesis degree teacher nursery kindergarten campus training studies defence",
  language:
    "language speak tongue translate translation word english german french spanish finnish korean welsh grammar dialect locale pronounce",
  religion: "church chapel parish priest religion faith mosque temple prayer mass",
  nature:
    "nature mountain forest river lake sea beach snow ski slope weather rain wind storm hail sun hike climb skiing",
  weather: "weather rain snow storm hail wind temperature sunny forecast cloud cold hot moisture wet humid",
  colour: "colour color red blue green yellow teal crimson ochre black white shade hue paint bright dark",
  speech:
    "talk speak speaker conference summit presentation lecture podium stage audience sentence stutter conversation say voice",

  // Writing and messages
  mail: "mail email letter post send inbox subject recipient envelope newsletter address deliver",
  phone: "phone telephone call ring dial number mobile smartphone cell sms voicemail handset digits",
  chat: "chat message conversation slack channel reply thread text talk answer",
  writing:
    "write written text sentence paragraph style note document report comment summary spelling punctuation period message short",
  meeting:
    "meeting meet call conference appointment session discussion workshop standup gather interview talk together",
  delivery: "deliver delivery ship shipment parcel package pallet supplier goods courier order arrive",

  // Size and number
  number: "number count many much amount total quantity figure digit percent half double",
  size: "size big small large wide width long length height tall millimetre centimetre metre dimension short measure metric unit thick",
  weight: "weight heavy light kilo gram pound ton mass",
  limit: "limit maximum minimum most least threshold quota cap exceed restrict bound",
  speed: "speed fast slow quick latency performance delay wait long sluggish throughput lag",
  order: "order first last sort sequence rank month day position arrange",
  quality: "good bad better worse best quality poor excellent wrong right correct accurate",
  material: "wood metal glass plastic stone paper wool leather felt tile steel",
  noise: "noise loud sound squeak quiet silence creak",
  fire: "fire burn smoke flame blaze fuse",
  safety: "safe safety danger dangerous risk risky protect guard secure",

  // Software
  code:
    "code program programming source software function class library script write coded developer compile language implement module construct rust go golang " +
    "kotlin java elixir python ruby haskell scala swift javascript typescript php perl erlang coding written codebase",
  database:
    "database db sql postgres postgresql mysql mariadb sqlite table row query schema index transaction vacuum datastore mongodb",
  server:
    "server host machine cloud cluster node datacenter datacentre instance infrastructure hosting rack vm container kubernetes docker",
  environments:
    "staging production live test sandbox preproduction environment development non-production prod dev real",
  deployment: "deploy deployment release ship rollout publish version launch pipeline ci build terraform ansible live",
  testing: "test tests suite spec check verify coverage flaky assertion qa exercise mock fixture sandbox red",
  versioning:
    "git branch commit merge pull trunk main repository repo history squash rebase push tag version fork stale",
  network:
    "network internet wifi router port connection proxy dns ip firewall traffic ipv6 vpn reach latency load balancer gateway online",
  website: "website site web page browser url link domain crawler scrape spider homepage https html",
  security:
    "security secure vulnerability pentest attack encryption encrypt cipher key token password secret certificate tls ssl audit firewall exploit",
  login:
    "login signin sign auth authentication authenticate oauth password account user sso credential session logout keycloak",
  failure:
    "crash error exception fail failure outage down incident segfault broken unavailable bug timeout choke panic",
  memoryuse: "memory ram heap leak cache swap allocation buffer grow oom",
  storage: "storage disk store file folder bucket s3 save keep archive upload hold drive directory",
  backup: "backup snapshot copy restore archive save recovery replica dump",
  logs: "log logs logging trace monitor monitoring dashboard metric alert chart graph grafana panel observability output",
  jobs: "job cron scheduled nightly batch worker queue task background timer trigger scheduler night",
  messaging: "queue broker event events message kafka rabbitmq nats publish subscribe stream topic",
  caching: "cache cached redis memcached flush evict invalidate emptied ttl",
  settings:
    "setting settings configuration config configure option flag toggle preference switch parameter file environment",
  interface:
    "ui frontend interface button screen app mobile client design logo theme layout graph panel user accessibility",
  api: "api endpoint request response call rest graphql rpc webhook gateway rate throttle client sdk",
  documents: "documentation docs manual guide readme wiki spec design document page tutorial architecture rfc notion",
  tickets: "ticket issue bug feature request board backlog card sprint iteration task wish idea milestone jira trello",
  review: "review approve pull request feedback comment reviewer audit inspect check accept",
  computer:
    "computer laptop pc desktop machine mac screen keyboard operating system os linux windows macos notebook hardware",
  editing: "editor ide vim emacs vscode type typing write code shortcut helix",
  printing: "print printer label sticker paper tag ink",
  learningmachine:
    "model machine learning ml ai training train retrain neural prediction recommendation suggestion llm embedding",
  data: "data dataset file files import export csv rows record field format load ingest input sheet column",
  dates: "format iso timezone utc timestamp american european",
  retry: "retry attempt again repeat repeating times backoff replay",
  branding: "brand logo emblem slogan colour design font marketing",
  payments: "payment pay money transfer charge charging card checkout billing transaction refund bank",
  images: "image images picture pictures photo photos upload thumbnail preview png jpeg icon",
  removal: "delete remove drop erase purge shred clean empty clear discard throw rid vanish gone",
  change: "change replace switch swap rotate rotation move migrate migration update upgrade convert renew new instead",
  naming: "name naming convention call title prefix rivers poets",
  signing: "sign signed signature certificate approve notarise",
  badge: "badge desk office access card entrance entry",
}

/** Groups of related fields, for the weakest matches. */
export const FIELD_GROUPS: Readonly<Record<string, string>> = {
  allhealth: "health medicine doctor injury pain teeth sight hearing blood sleep allergy fitness body",
  allpeople: "person family partner friend responsibility occupation team customer name",
  allhome: "home rent furniture heating cleaning repair tools garden keys waste cooking clothes animals",
  allfood: "food drink cooking allergy",
  alltravel: "travel car transit bicycle boat flight papers place residence",
  alltime: "time date weekday schedule start finish delay expiry frequency duration birthday holiday jobs",
  allmoney: "money income purchase billing banking insurance tax subscription payments contract",
  allfeeling: "liking dislike fear wish decision permission advice agreement refusal",
  allleisure: "music books film art photo games hobby speech nature fitness holiday",
  allwriting: "mail phone chat writing meeting documents language books",
  alloperations:
    "server environments deployment network backup logs jobs messaging caching failure storage memoryuse speed",
  allprogramming: "code testing versioning review editing api interface settings documents tickets language",
  alldata: "database storage data caching backup images",
  allsecurity: "security login permission signing keys authority",
}
