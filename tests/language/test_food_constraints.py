"""What somebody must not eat, and the prompts for which that matters."""

import pytest

from nagori.language.food_constraints import LONGEST, is_about_food, limits_diet
from nagori.services.prompt_context import may_be_food


@pytest.mark.parametrize(
    "prompt",
    [
        "What should I order for dinner?",
        "pancake recipe for tonight please",
        "we can't have shellfish at the party, right?",
        "what can't she eat, what was it again?",
        "晩ごはん何つくろう",
        "彼が食べられないものは何でしたっけ",
        "差し入れは何がいいかな",
    ],
)
def test_a_prompt_about_food(prompt: str) -> None:
    assert is_about_food(prompt)
    assert may_be_food(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "What did I have for lunch yesterday?",
        "昨日の昼ごはんの店どこだったっけ",
        "which port does staging use?",
        "create a great feature and repeat it",
        "",
        "x" * LONGEST + " dinner",
    ],
)
def test_a_prompt_that_is_not_about_food_to_come(prompt: str) -> None:
    assert not is_about_food(prompt)


@pytest.mark.parametrize("prompt", ["add an item to the menu", "bake the image with this recipe"])
def test_at_work_a_menu_may_be_something_else(prompt: str) -> None:
    assert is_about_food(prompt)
    assert not is_about_food(prompt, at_home=False)
    assert is_about_food(f"{prompt} before lunch", at_home=False)


@pytest.mark.parametrize(
    "statement",
    [
        "he's coeliac, found out in May",
        "I'm allergic to peanuts.",
        "Dad can't have grapefruit with his tablets",
        "she doesn't eat pork",
        "no meat for me, I'm vegetarian",
        "エビのアレルギーがある",
        "父は納豆を食べちゃだめなんです",
        "母は牛乳を飲むとお腹をこわす",
        "塩分を控えるように言われた",
    ],
)
def test_a_statement_that_limits_what_somebody_eats(statement: str) -> None:
    assert limits_diet(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "I can't eat another bite",
        "we don't have time for that",
        "I don't have a clue",
        "the soup was great",
        "お昼に食べたラーメンがおいしかった",
        "staging listens on 8443",
    ],
)
def test_a_statement_that_limits_nothing(statement: str) -> None:
    assert not limits_diet(statement)


WORDS = (
    "eat eating food meals lunch dinner breakfast brunch supper snacks desserts restaurant takeaway take-out"
    " catering caterer grocery groceries buffet picnic barbecue potluck lunchbox allergy allergic"
    " diet dietary recipe menu cooks cooking bake baking dishes cakes sweets chocolate"
    " 料理 食べ 召し上がる 食事 ごはん ご飯 昼食 夕食 朝食 夕飯 昼飯 弁当 献立 おやつ お菓子 外食 飲み会"
    " 宴会 会食 ケーキ 給食 差し入れ 手土産 居酒屋 食材 ランチ ディナー スイーツ アレルギー レシピ レストラン"
)


@pytest.mark.parametrize("word", WORDS.split())
def test_the_quick_look_misses_no_word_of_the_thorough_one(word: str) -> None:
    assert is_about_food(f"plan the {word}")
    assert may_be_food(f"plan the {word}")
    assert may_be_food(word)
