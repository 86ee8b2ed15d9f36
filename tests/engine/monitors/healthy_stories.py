"""The texts of healthy runs, as different as tasks and languages are."""

# ruff: noqa: RUF001 -- other scripts have letters that look like ours
CHINESE = [
    "首先，查看目录结构，了解代码组织，找到登录模块，看会话保存，检查超时设置，确认测试覆盖，决定修改方式，记录计划，开始执行。",
    "目录有三个子模块，登录代码在认证目录，会话写入缓存，过期时间由配置决定，先读配置，再读中间件，比较两者，必要时加日志，继续分析。",
    "配置是三十分钟，中间件用默认值，参数没有传入，寻找初始化位置，查看构造函数，确认调用链，准备修改，考虑兼容，评估风险。",
    "初始化在应用工厂，构造函数有可选参数，调用没有传入，所以用默认值，打算传入配置值，增加校验，避免零值，写单元测试，保持简单。",
    "现在修改工厂，把时间传给中间件，注意单位是秒，需要换算，更新类型标注，保持接口，不影响调用者，然后运行测试，观察输出。",
    "测试有一个失败，提示不相等，可能是时区，检查断言，使用了本地时间，应改成标准时间，重新运行，确认结果，再看日志。",
    "断言已改，测试全部通过，接下来看文档，仍写旧默认值，需要同步，避免误导，检查变更日志，补充说明，核对链接。",
    "文档完毕，日志补充，做整体检查，查看差异，没有多余改动，格式符合规范，准备提交，说明原因，附上编号。",
    "提交前再看差异，没有遗漏文件，信息写清楚，推送到分支，等待集成，通知审阅者，整理笔记，结束任务，感谢。",
]
FINNISH = [
    "Tarkistan ensin projektin hakemistorakenteen ja etsin kirjautumismoduulin sekä istuntojen tallennuksen.",
    "Kirjautumiskoodi löytyy todennushakemistosta, istunto kirjoitetaan välimuistiin, aika tulee asetuksista.",
    "Asetuksissa vanhenemisajaksi on merkitty kolmekymmentä minuuttia, mutta väliohjelmisto käyttää oletusarvoa.",
    "Alustus tehdään sovellustehtaassa, rakentaja ottaa valinnaisen parametrin, jota kutsussa ei anneta.",
    "Muutan tehdasta niin, että aika välitetään väliohjelmistolle sekunteina, ja lisään tarkistuksen nolla-arvoille.",
    "Testeistä yksi epäonnistui, koska vertailussa käytettiin paikallista kelloa, vaihdan sen yleisaikaan.",
    "Kaikki testit menevät läpi, seuraavaksi päivitän dokumentaation, jossa mainitaan yhä vanha oletus.",
    "Dokumentit ovat valmiit, katson vielä erot ja varmistan, ettei ylimääräisiä muutoksia jäänyt.",
    "Lähetän muutokset haaraan, odotan integraation tulosta ja ilmoitan katselmoijalle.",
]
RUSSIAN = [
    "Сначала посмотрю структуру проекта и найду модуль входа, проверю где хранятся сессии пользователей.",
    "Код входа лежит в каталоге авторизации, сессия пишется в кэш, срок жизни берётся из настроек.",
    "В настройках указано тридцать минут, однако промежуточный слой берёт значение по умолчанию.",
    "Инициализация выполняется фабрикой приложения, конструктор принимает необязательный параметр.",
    "Исправляю фабрику: передаю срок в секундах, добавляю проверку нулевых значений и пишу тест.",
    "Один тест упал, сравнение использует местное время, заменяю его всемирным и запускаю снова.",
    "Все проверки прошли, обновляю документацию, там осталось старое значение, дополняю журнал.",
    "Документация готова, просматриваю разницу, лишних правок нет, оформляю коммит с пояснением.",
    "Отправляю ветку, жду сборку и сообщаю рецензенту, затем закрываю задачу.",
]
ENGLISH = [
    "First I look at the layout of the project and find the login module, then check where sessions are stored.",
    "The login code sits in the auth directory, the session goes to the cache, its lifetime comes from the settings.",
    "The settings say thirty minutes, but the middleware takes a default value.",
    "The application factory does the initialisation; the constructor accepts an optional parameter.",
    "I change the factory: pass seconds, guard against zero and write a unit case.",
    "One test fell over, the comparison uses local time; replace it by UTC and rerun.",
    "Everything is green, now the documentation still mentions the old number, and the changelog needs a line.",
    "Docs are ready; inspect the diff for stray edits, then write a commit message explaining why.",
    "Push the branch, wait for CI and notify the reviewer.",
]
TRIP = [
    (
        "I search a flight from Berlin to Lisbon in May for two people.",
        "search_flights",
        "BER LIS",
        "TAP 533 08:10 189 EUR",
    ),
    ("The early departure costs 189 and fits the budget.", "search_flights", "LIS BER", "TAP 534 19:00 175 EUR"),
    ("The return on Sunday evening fits too.", "book_flight", "TAP533", "booking 7781 confirmed"),
    ("The second leg gets booked as well.", "book_flight", "TAP534", "booking 7782 confirmed"),
    (
        "A quiet double room near Alfama with breakfast and a balcony would suit their wishes.",
        "search_hotels",
        "Alfama",
        "Casa Azul 120, Solar 95",
    ),
    (
        "Casa Azul has breakfast, balcony, good reviews and free cancellation until Friday.",
        "get_hotel",
        "Casa Azul",
        "double 120 per night, breakfast included",
    ),
    (
        "Reserve the double room at Casa Azul with late arrival and a cot for the baby.",
        "reserve_hotel",
        "Casa Azul",
        "reservation 551",
    ),
    (
        "They wanted a vegetarian dinner on Saturday, so compare menus of small taverns nearby.",
        "search_restaurants",
        "vegetarian",
        "Terra, Ao 26",
    ),
    ("Terra serves a buffet and accepts groups, a table at eight is free.", "reserve_table", "Terra", "table reserved"),
    (
        "Museum tickets: the tile museum opens at ten and sells timed slots online.",
        "search_tickets",
        "tile museum",
        "slots 10:00 11:00",
    ),
    ("Take the ten o'clock slot for two adults and print the vouchers.", "buy_tickets", "10:00", "voucher 99"),
]
"""Flights, a room, a dinner and a museum: thought, tool, argument, result."""
DATA_ENTRY = [
    ("Read the brief and start the catalogue with the first animal, the zebra of the savanna.", "zebra"),
    ("Add the giraffe, a tall herbivore with long neck.", "giraffe"),
    ("Add the lion, a carnivore living in prides.", "lion"),
    ("Add the elephant with trunk and tusks.", "elephant"),
    ("Add the hippopotamus that lives in rivers.", "hippo"),
    ("Add the cheetah, fastest sprinter.", "cheetah"),
    ("Add the ostrich, flightless bird.", "ostrich"),
    ("Add the warthog with curved tusks.", "warthog"),
    ("Add the baboon troop.", "baboon"),
    ("Add the aardvark digging termites.", "aardvark"),
    ("Also add the meerkat, a small mongoose standing upright near burrows.", "meerkat"),
    ("Another one: penguin, swims in cold oceans, eats krill.", "penguin"),
    ("Also the polar bear, white fur, hunts seals on arctic ice.", "polar bear"),
    ("Another entry, the sloth, hanging slowly in rainforest canopies.", "sloth"),
    ("Also add the koala eating eucalyptus leaves in Australia.", "koala"),
]
"""One animal after the other: thought and name."""
