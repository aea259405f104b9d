"""Stop words: the function words of the main languages, as few as serve.

They carry no topic, so they neither count as covered nor as missing; and their share in a text tells its language.
Since a word does not say which language it is of, the lists leave out what is a topic elsewhere (`care`, `ale`, `kim`).
"""

from __future__ import annotations


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set: lists of words read best as text."""
    return frozenset(words.split())


STOPWORDS: dict[str, frozenset[str]] = {
    "en": word_set(
        """a about after all also an and any are as at be because been before being between both but by can could did
        do does during each for from had has have he her here him his how i if in into is it its just me more most my
        no nor not of off on once only or other our out over own per same shall she should so some such than that the
        their them then there these they this those through to too under until up upon us very via was we were what
        when where whether which while who whom whose why will with within without would you your"""
    ),
    "de": word_set(
        """aber als am an auch auf aus bei bis das dass dem den der des die diese dieser dieses durch ein eine einem
        einen einer eines er es für hat ich ihr im in ist mit nach nicht noch nur oder sein sich sie sind so über um
        und unter von vor war was welche welcher wenn wer werden wie wird wo wurde wurden zu zum zur zwischen"""
    ),
    "fr": word_set(
        """au aux avec ce ces cette comment dans de des du elle en est et été il ils je la le les leur lui mais ne nous
        on ont ou où par pas plus pour qu que quel quelle qui sa se ses son sont sur un une vous était"""
    ),
    "es": word_set(
        """al como con cuál cuándo de del dónde el ella en entre era es esta este fue ha la las lo los más no o para
        pero por que qué quién se ser si sin sobre son su sus también un una y ya"""
    ),
    "it": word_set(
        """al alla anche che chi come con da dal dalla degli dei del della delle di dove e era gli ha il in la le lo
        nel nella non per più quale quando sono su sul tra un una è"""
    ),
    "pt": word_set(
        """ao aos as com como da das de do dos e ela ele em entre era foi mais mas na nas no nos não o os ou para pela
        pelo por qual quando que quem se seu sua são também um uma é"""
    ),
    "nl": word_set(
        """aan als bij dat de der deze die dit door een en er haar heeft het hij hoe ik in is met naar niet of om onder
        ook op over te tot uit van voor waar wat werd wie worden zijn zou"""
    ),
    "sv": word_set(
        """att av de den det efter eller en ett från för han har hon hur i inte med men när och om på sig som till var
        vad vid är"""
    ),
    "da": word_set(
        """af at blev de den der det efter eller en er et for fra han har hvad hvem hvilke hvilken hvor hvordan
        hvorfor hvornår i ikke med og om på som til ved være år"""
    ),
    "no": word_set(
        """av ble de den det eller en er et etter for fra han har hva hvem hvilke hvilken hvor hvordan hvorfor i
        ikke med når og om på som til ved være år"""
    ),
    "fi": word_set(
        """ei että ja joka jotka kanssa kuinka kuka kun miksi mikä milloin missä miten mitkä mitä mukaan mutta myös
        niin oli ovat se sekä siitä vai voi"""
    ),
    "pl": word_set(
        """czy dla dlaczego do gdzie jak jaka jaki jakie jego jej jest kiedy kto która które którego który których
        lub na nad nie od oni oraz po przed przez przy się są tego ten w z za że"""
    ),
    "cs": word_set(
        """aby byl byla bylo jak jako jaká jaké jaký je jeho jejich jsou kdo kdy která které který kteří na nad
        nebo od podle proč před při se si tím u v z že"""
    ),
    "hu": word_set("""az azt csak egy ezt hogy hogyan hol mely melyik mennyi mikor milyen miért nem vagy és"""),
    "ro": word_set("""ce cum când cât către de despre dintre este fost la pentru prin sau sunt unde unei unui în și"""),
    "tr": word_set(
        """bir bu daha en gibi hangi hangisi ile için kadar mu mü mı nasıl ne neden nedir nerede olan olarak sonra
        ve veya ya çok şu"""
    ),
    "id": word_set(
        """adalah atau bagaimana berapa dalam dengan di itu juga kapan ke mengapa oleh pada para sebagai secara
        siapa telah terhadap tidak untuk yang"""
    ),
    "vi": word_set(
        """bị các cái có cũng của gì khi không là làm người nhiều như những nào này năm thế trong tại từ và về với
        đã đó được đến để ở"""
    ),
    "ru": word_set(
        """а без был была были было быть в во все где для до его ее если есть еще ещё её же за и из или их к как
        какая какие каких каков какова каково каковы какой когда которые который кто ли на над не него но о об
        он она они оно от по под почему при с сколько со так также то тоже у чего чей чем что чтобы эта эти это
        этот я"""
    ),
    "uk": word_set(
        """а без був була були було в від де для до з за зі й його к коли котрий на над не ні по при про після
        скільки та так також те ти то у хто це цей ці чи чого чому що щоб як яка яке який яким яких які і із їх
        її"""
    ),
    "bg": word_set(
        """а без в във да до е за и из или как каква какви какво какъв кога когато кого което които който колко
        къде на не от по под през при с са се след със то у че"""
    ),
    "ar": word_set(
        """أن أو أي أين إلى إن التي الذي الذين بعد به بها بين تم ثم حتى حول خلال ذلك على عن عند في فيه فيها قبل قد
        كان كانت كم كما كيف لا لم لماذا له لها ما ماذا متى مع من منذ منه منها هذا هذه هل هم هو هي و يتم"""
    ),
    "fa": word_set(
        """آن آیا از است این با بر برای به بود در را شد شده می های هر و چرا چند چه چگونه چیست کجا کدام که یا"""
    ),
    "ur": word_set(
        """اس ان اور ایک تک تھا تھی تھے جو سے لیے میں نہیں نے وہ پر کا کب کتنا کتنی کتنے کس کو کون کہ کہاں کی کیا
        کیسے کیوں کے ہو ہیں ہے یا یہ"""
    ),
    "he": word_set(
        """אבל או איך אין איפה אל אם אשר את בין גם הוא היא היה הייתה היכן הם זאת זה זו יש כדי כי כל כמה לא למה לפי
        מדוע מה מהו מהי מי מתי עד על עם רק של"""
    ),
    "hi": word_set(
        """इन इस इसे उस एक और कब कहाँ कहां का कि कितना कितनी कितने किस किसने की के कैसे को कौन क्या क्यों जो तक तथा
        था थी थे द्वारा नहीं ने पर में यह या वह से ही हुआ हुई हुए है हैं हो"""
    ),
    "mr": word_set("""आणि आहे आहेत कधी कसे का काय किती कुठे केला केली केले च्या ती ते तो नाही मध्ये या व होता होती होते"""),
    "ne": word_set("""कति कसरी कहाँ का किन के को गरेको छ छन् त्यो थियो पनि भएको मा यो र लाई ले हो"""),
}
CJK_STOPWORDS = word_set(
    """的 了 是 在 与 與 及 也 都 而 之 其 被 把 这 這 那 哪 谁 誰 何 吗 嗎 呢 么 麼 吧 啊 有 和 为 為 请问
    請問 什么 什麼 怎么 怎麼 怎样 怎樣 如何 哪里 哪裡 哪个
    哪個 哪些 哪年 哪位 多少 是否 为什么 為什麼 为何 為何 何时 何時 几个 幾個
    一个 一個 这个 這個 那个 那個 何年 何人 何処"""
)
"""Words of Chinese and Japanese that ask or join; hiragana is left out by its script."""
