// A short program: types are erased before the guest sees it, the returned value is the result.
interface Fruit {
  name: string;
  grams: number;
  ripe: boolean;
}

enum Size { Small = 'small', Large = 'large' }

const basket: Fruit[] = [
  { name: 'apple', grams: 180, ripe: true },
  { name: 'melon', grams: 1200, ripe: false },
  { name: 'plum', grams: 40, ripe: true },
];

const sizeOf = (fruit: Fruit): Size => (fruit.grams > 500 ? Size.Large : Size.Small);
const ripe = basket.filter((fruit) => fruit.ripe);

console.log(`${ripe.length} of ${basket.length} are ripe`);

return {
  ripe: ripe.map((fruit) => fruit.name),
  sizes: Object.fromEntries(basket.map((fruit) => [fruit.name, sizeOf(fruit)])),
  grams: basket.reduce((sum: number, fruit) => sum + fruit.grams, 0),
};
